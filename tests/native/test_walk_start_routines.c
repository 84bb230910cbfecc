// Callers of code that has no frame of a known size: the VM's routines, and functions.
#define _GNU_SOURCE
#include "made_up_thread.h"

#include <string.h>

// ---- routines

static void in_routines(void)
{
    const struct {
        uintptr_t by;
        int length;
    } calls[] = {{of_routine, 5}, {of_routine_far, 3}};
    for (int i = 0; i < 2; i++)
        for (unsigned pushed = 0; pushed <= 255; pushed += pushed < 8 ? 1 : 19) {
            begin_in_caller();
            uintptr_t *callers_sp = sp;
            push(calls[i].by);
            push_many(pushed);
            find(routine + 50, FP_OF_CALLER, true);
            CHECK_ONE(calls[i].by - (uintptr_t)calls[i].length, FP_OF_CALLER, callers_sp);
        }
}

// A blob may hold many of them: a call of one far before is that of another.
static void in_a_routine_of_many(void)
{
    uint8_t *many = make_blob("StubRoutines (5)", 0, 300);
    uintptr_t of_first = put_call(caller + 180, many);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_first);
    push_many(2);
    find(many, FP_OF_CALLER, true);
    CHECK_ONE(of_first - 5, FP_OF_CALLER, callers_sp);
    find(many + 16383, FP_OF_CALLER, true);
    CHECK_ONE(of_first - 5, FP_OF_CALLER, callers_sp);
    find(many + 16384, FP_OF_CALLER, true);
    CHECK_NONE();
}

static void in_routines_that_call_routines(void)
{
    uintptr_t of_second = put_call(routine + 100, second);
    uintptr_t of_third = put_call(second + 100, third);
    uintptr_t of_fourth = put_call(third + 100, fourth);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine);
    push_many(2);
    push(of_second);
    push_many(3);
    find(second + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    push(of_third);
    find(third + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    // Somewhere it ends.
    push(of_fourth);
    find(fourth + 50, FP_OF_CALLER, true);
    CHECK_NONE();
}

// C1 pushes what it passes: the method's frame is larger than it says.
static void in_routines_that_got_something_pushed(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push_many(2);
    push(of_routine);
    find(routine + 50, FP_OF_CALLER, true);
    CHECK(!found.walkable);
    CHECK_EQUAL(found.count, 2);
    CHECK_PLACE(0, of_routine - 5, FP_OF_CALLER, callers_sp);
}

static void an_earlier_call_is_not_taken(void)
{
    for (unsigned room = 0; room < 3; room++) {
        // Earlier, its caller had a frame whose return address lay where the call under way has
        // put its own.
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_routine);
        uintptr_t *real = sp;
        push_many(CALLER - 1);
        push(of_routine_far);
        CHECK(sp + CALLER == real);
        push_many(room);
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        // The same one call further out: it leads there by two frames.
        sp[room] = 0;
        push_many(OUTER);
        real[-OUTER] = in_outer;
        real[-OUTER - CALLER] = of_routine;
        sp = real - OUTER - CALLER - room;
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        // It leads to what is no return address any more.
        real[-OUTER] = 12345;
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    }
}

// Which one of several that lead nowhere is under way is unknown.
static void of_several_that_lead_nowhere_none_is_taken(void)
{
    begin_in_caller();
    memset(sp, 0, 100 * sizeof *sp);
    const uintptr_t by[] = {of_routine, of_routine_far};
    for (int i = 0; i < 2; i++) {
        push(in_outer);
        push_frame(CALLER, FP_OF_OUTER);
        uintptr_t *callers_sp = sp;
        push(by[i]);
        push_many(2);
        find(routine + 50, FP_OF_CALLER, true);
        if (i == 0)
            CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        else
            CHECK_NONE();
    }
}

static void in_routines_with_a_frame_pointer(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine_by_register);
    push(FP_OF_CALLER);
    uintptr_t fp = (uintptr_t)sp;
    push_many(5);
    find(routine + 50, fp, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    find(routine + 50, (uintptr_t)(sp - 1), true);
    CHECK_NONE();
    find(routine + 50, (uintptr_t)sp + 65536, true);
    CHECK_NONE();
    // One that is the caller's, who has a frame pointer by chance.
    sp[2] = of_callee;
    find(routine + 50, fp, true);
    CHECK_NONE();
    // No frame pointer: such ones are whole words, even if all fits otherwise.
    sp[2] = 0;
    memmove((char *)sp + 4, sp, 100 * sizeof *sp);
    find(routine + 50, fp + 4, true);
    CHECK_NONE();
}

static void in_routines_without_a_frame(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine_by_register);
    find(routine + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    push(FP_OF_CALLER); // saved, and the same yet
    find(routine + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    find(routine + 50, FP_OF_CALLEE, true);
    CHECK_NONE();
}

// ---- functions

static int no_part_of_it(int number) { return number; }

static void in_functions_without_a_frame(void)
{
    const void *functions[] = {(void *)vm_function, (void *)no_part_of_it};
    for (int i = 0; i < 2; i++) {
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_vm);
        find(functions[i], FP_OF_CALLER, true);
        CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        // Who has left Java has put down from where.
        find(functions[i], FP_OF_CALLER, false);
        CHECK_NONE();
        push_many(1);
        find(functions[i], FP_OF_CALLER, true);
        CHECK_NONE();
    }
}

static void in_functions_with_frame_pointers(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_vm);
    push(FP_OF_CALLER);
    uintptr_t fp = (uintptr_t)sp;
    for (int depth = 0; depth < 3; depth++) {
        push_many(4);
        find((void *)vm_function, fp, true);
        CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        find((void *)vm_function, fp, false);
        CHECK_NONE();
        push((uintptr_t)vm_function + 1);
        push(fp);
        fp = (uintptr_t)sp;
    }
    // A frame that is its own caller.
    *sp = fp;
    find((void *)vm_function, fp, true);
    CHECK_NONE();
    // Too many to look at while a thread is held up.
    for (unsigned depth = 64; depth <= 65; depth++) {
        begin_in_caller();
        callers_sp = sp;
        push(of_vm);
        push(FP_OF_CALLER);
        for (unsigned i = 1; i < depth; i++) {
            fp = (uintptr_t)sp;
            push((uintptr_t)vm_function + 1);
            push(fp);
        }
        fp = (uintptr_t)sp;
        push_many(1);
        find((void *)vm_function, fp, true);
        if (depth == 64)
            CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        else
            CHECK_NONE();
    }
}

int main(void)
{
    make_vm();
    make_stack();
    RUN(in_routines);
    RUN(in_a_routine_of_many);
    RUN(in_routines_that_call_routines);
    RUN(in_routines_that_got_something_pushed);
    RUN(an_earlier_call_is_not_taken);
    RUN(of_several_that_lead_nowhere_none_is_taken);
    RUN(in_routines_with_a_frame_pointer);
    RUN(in_routines_without_a_frame);
    RUN(in_functions_without_a_frame);
    RUN(in_functions_with_frame_pointers);
    return 0;
}
