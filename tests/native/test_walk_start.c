// Callers of methods, found by a stack and by what the code is about to do: of a VM that is made
// up.
#define _GNU_SOURCE
#include "hotspot/vm/code_cache.h"
#include "made_up_thread.h"

#include <string.h>

static void does_without_what_is_not_exported(void)
{
    for (struct_entry *entry = struct_entries; entry < first_spare; entry++) {
        const char *field = entry->field;
        entry->field = "_other";
        sonde_vm_code_prepare();
        CHECK(!sonde_is_generated((uintptr_t)callee) || !sonde_is_interpreter(in_interpreter));
        begin_in_caller();
        push(of_callee);
        push_frame(CALLEE, FP_OF_CALLER);
        find(callee + 100, FP_OF_CALLEE, true);
        CHECK_EQUAL(found.walkable, sonde_is_generated((uintptr_t)callee));
        entry->field = field;
    }
    type_entries[1].type = "OtherBlock";
    sonde_vm_code_prepare();
    CHECK(!sonde_is_generated((uintptr_t)callee));
    type_entries[1].type = "HeapBlock";
    sonde_vm_code_prepare();
    CHECK(sonde_is_generated((uintptr_t)callee) && sonde_is_interpreter(in_interpreter));
}

// ---- methods

static void in_the_middle_of_a_method(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    for (int in_java = 0; in_java < 2; in_java++) {
        find(callee + 100, FP_OF_CALLEE, in_java);
        CHECK(found.walkable);
        CHECK_EQUAL(found.count, 1);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
    }
}

// Each with the bytes around it.
typedef struct {
    const char *bytes;
    uint8_t length, at;
    bool saved; // the caller's frame pointer is on the stack
} instruction;

static void at_the_edges_of_a_method(void)
{
    static const instruction edges[] = {
        {CODED("\x55"), 0, false},                             // push rbp
        {CODED("\x89\x84\x24\x00\xc0\xfe\xff"), 0, false},     // mov [rsp - 0x14000], eax
        {CODED("\x55\x48\x83\xec\x20"), 1, true},              // sub rsp, 0x20
        {CODED("\x55\x48\x81\xec\x20\x01\x00\x00"), 1, true},  // sub rsp, 0x120
        {CODED("\x90\x48\x83\xec\x20"), 1, false},             // without a push before
        {CODED("\x90\x48\x81\xec\x20\x01\x00\x00"), 1, false}, // the same
        {CODED("\x5d\xc3"), 0, true},                          // pop rbp
        {CODED("\x5d\xc3"), 1, false},                         // ret
        {CODED(POLL), 0, false},                               // cmp rsp, [r15 + 0x348]
        {CODED(POLL), 7, false},                               // ja
        {CODED(POLL), 13, false},                              // ret
        {CODED(NEAR_POLL), 0, false},                          // cmp rsp, [r15 + 0x28]
        {CODED(NEAR_POLL), 4, false},                          // ja
    };
    for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++) {
        uint8_t *at = callee + 200;
        memset(at, 0x90, 32);
        put(at, edges[i].bytes, edges[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_callee);
        if (edges[i].saved)
            push(FP_OF_CALLER);
        find(at + edges[i].at, edges[i].saved ? FP_OF_CALLEE : FP_OF_CALLER, true);
        CHECK_ONE(of_callee - 5, FP_OF_CALLER, callers_sp);
        // However it was called.
        callers_sp[-1] = of_callee_by_register;
        find(at + edges[i].at, edges[i].saved ? FP_OF_CALLEE : FP_OF_CALLER, true);
        CHECK_ONE(of_callee_by_register - 2, FP_OF_CALLER, callers_sp);
    }
}

// Return addresses of earlier calls lie where they would be looked for at an edge.
static void not_at_what_resembles_an_edge(void)
{
    static const instruction others[] = {
        {CODED("\x89\x84\x24\x00\x01\x00\x00"), 0, false},                             // rsp + …
        {CODED("\x89\x44\x24\x10\x90\x90\xff"), 0, false},                             // rsp + …
        {CODED("\x48\x83\xc4\x20"), 0, false},                                         // add rsp
        {CODED("\x48\x83\xe8\x20"), 0, false},                                         // sub rax
        {CODED("\x49\x3b\xa7\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\x90"), 0, false}, // no ret
        {CODED("\x49\x3b\xa7\x48\x03\x00\x00\x0f\x86\x10\x00\x00\x00\xc3"), 0, false}, // jbe
        {CODED("\x49\x3b\x87\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\xc3"), 0, false}, // cmp rax
        {CODED("\x0f\x87\x10\x00\x00\x00\x90"), 0, false},                             // ja, no ret
        {CODED("\x0f\x86\x10\x00\x00\x00\xc3"), 0, false},                             // jbe
    };
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        uint8_t *at = callee + 200;
        memset(at, 0x90, 32);
        put(at, others[i].bytes, others[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_callee);
        push_frame(CALLEE, FP_OF_CALLER);
        sp[0] = sp[1] = of_callee_by_register;
        find(at, FP_OF_CALLEE, true);
        CHECK(found.walkable);
        CHECK_EQUAL(found.count, 1);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
    }
}

// An instruction of an edge, where no return address lies as there.
static void pushes_the_frame_pointer_for_other_reasons(void)
{
    callee[200] = 0x55;
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    find(callee + 200, FP_OF_CALLEE, true);
    CHECK(found.walkable);
}

static void before_a_method_has_begun(void)
{
    uint8_t *at = callee + 3; // looks whether it is the one that was meant
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_callee);
    find(at, FP_OF_CALLER, true);
    CHECK(!found.walkable);
    CHECK_EQUAL(found.count, 3); // the callers of its caller come last
    CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
}

static void with_registers_pushed(void)
{
    const uintptr_t by[] = {of_callee, of_callee_by_register};
    for (int i = 0; i < 2; i++)
        for (unsigned pushed = 1; pushed <= 24; pushed++) {
            begin_in_caller();
            push(by[i]);
            push_frame(CALLEE, FP_OF_CALLER);
            uintptr_t *own_sp = sp;
            push_many(pushed);
            find(callee + 100, FP_OF_CALLEE, true);
            CHECK(!found.walkable);
            CHECK_PLACE(0, (uintptr_t)callee + 100, FP_OF_CALLEE, own_sp);
            // What lies further out is as good a guess, if it is not out of reach.
            CHECK_EQUAL(found.count, 1 + (pushed + CALLER <= 24) + (pushed + CALLER + OUTER <= 24));
        }
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    push_many(25);
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK_NONE();
}

// One that calls this very method is likelier than a nearer one of which that is not known.
static void the_sure_one_first(void)
{
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    uintptr_t *own_sp = sp;
    push_many(3);
    sp[CALLEE - 1 + 1] = of_callee_by_register; // left there
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK_EQUAL(found.count, 4);
    CHECK_PLACE(0, (uintptr_t)callee + 100, FP_OF_CALLEE, own_sp);
    CHECK_PLACE(1, (uintptr_t)callee + 100, FP_OF_CALLEE, sp + 1);
}

static void no_more_than_there_is_room_for(void)
{
    const uintptr_t by[] = {of_callee, of_callee_by_register};
    const unsigned most = sizeof found.places / sizeof *found.places;
    for (int i = 0; i < 2; i++) {
        begin_in_caller();
        for (int k = 0; k < 40; k++)
            push(by[i]);
        push_many(CALLEE);
        find(callee + 3, FP_OF_CALLEE, true);
        CHECK(!found.walkable);
        CHECK_EQUAL(found.count, most);
        push(of_callee); // may be its own, too
        find(callee + 3, FP_OF_CALLEE, true);
        CHECK_EQUAL(found.count, most);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLEE, sp + 1);
    }
}

// ---- calls

static void knows_calls_when_it_sees_one(void)
{
    static const struct {
        const char *bytes;
        uint8_t length;
        bool is_call;
    } forms[] = {
        {CODED("\xff\xd0"), true},                     // call rax
        {CODED("\x41\xff\xd3"), true},                 // call r11
        {CODED("\xff\x10"), true},                     // call [rax]
        {CODED("\x41\xff\x13"), true},                 // call [r11]
        {CODED("\xff\x50\x40"), true},                 // call [rax + 0x40]
        {CODED("\x41\xff\x53\x40"), true},             // call [r11 + 0x40]
        {CODED("\xff\x90\x40\x01\x00\x00"), true},     // call [rax + 0x140]
        {CODED("\x41\xff\x93\x40\x01\x00\x00"), true}, // call [r11 + 0x140]
        {CODED("\xff\xe0"), false},                    // jmp rax
        {CODED("\xff\x60\x40"), false},                // jmp [rax + 0x40]
        {CODED("\xff\xf0"), false},                    // push rax
        {CODED("\xe8\xff\xff\xff\x7f"), false},        // to where no code is
        {CODED("\x90\x90\x90\x90\x90"), false},
    };
    callee[200] = 0x55;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint8_t *at = caller + 200;
        memset(at, 0x90, 32);
        uintptr_t after = put(at, forms[i].bytes, forms[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(after);
        find(callee + 200, FP_OF_CALLER, true);
        if (forms[i].is_call)
            CHECK_ONE((uintptr_t)at, FP_OF_CALLER, callers_sp);
        else // not from there
            CHECK(!found.count || found.places[0].pc == (uintptr_t)callee + 200);
    }
    // The VM's own code, which is not generated.
    memset(caller + 200, 0x90, 32);
    uintptr_t after = put_call(caller + 200, (void *)vm_function);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(after);
    find((void *)vm_function, FP_OF_CALLER, true);
    CHECK_ONE(after - 5, FP_OF_CALLER, callers_sp);
}

// Before the first one there may be nothing to read.
static void looks_at_nothing_before_the_heap(void)
{
    for (uintptr_t i = 0; i < 13; i++) {
        begin_in_caller();
        memset(sp, 0, 100 * sizeof *sp);
        push(heap.memory.low + i);
        find(callee + 200, FP_OF_CALLER, true);
        CHECK_NONE();
    }
}

// ---- the interpreter

static void called_by_the_interpreter(void)
{
    callee[200] = 0x55;
    begin_in_caller();
    uintptr_t fp = (uintptr_t)(sp + 10);
    uintptr_t *interpreters_sp = sp;
    memset(sp, 0, 100 * sizeof *sp);
    push(in_interpreter);
    find(callee + 200, fp, true);
    CHECK_ONE(in_interpreter, fp, interpreters_sp);
    // It has always a frame, which does not lie anywhere.
    const uintptr_t no_frames[] = {
        0, FP_OF_CALLER, fp + 1, fp + 4, (uintptr_t)(sp - 1), (uintptr_t)sp + 65536,
    };
    for (unsigned i = 0; i < sizeof no_frames / sizeof *no_frames; i++) {
        find(callee + 200, no_frames[i], true);
        CHECK_NONE();
    }
    // In the middle, what was saved counts.
    push_frame(CALLEE, fp);
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK(found.walkable);
    CHECK_EQUAL(found.count, 1);
    CHECK_PLACE(0, in_interpreter, fp, interpreters_sp);
    sp[CALLEE - 2] = FP_OF_CALLER;
    find(callee + 100, fp, true);
    CHECK_NONE();
}

static void in_the_interpreter(void)
{
    begin_in_caller();
    push(of_callee);
    find((void *)in_interpreter, FP_OF_CALLER, true);
    CHECK_NONE();
}

// ---- where Java was left

static void below_a_routine(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_stub);
    push_frame(STUB, FP_OF_CALLER);
    find_below(stub + 20, FP_OF_CALLEE);
    CHECK_ONE(of_stub - 5, FP_OF_CALLER, callers_sp);
    // By the size of another frame it is not where it should be.
    sp++;
    find_below(stub + 20, FP_OF_CALLEE);
    CHECK_NONE();
    // Of other routines it is not known where they end.
    find_below(routine + 20, FP_OF_CALLEE);
    CHECK_NONE();
    find_below((void *)vm_function, FP_OF_CALLEE);
    CHECK_NONE();
    find_below(NULL, 0);
    CHECK_NONE();
    // Methods are walked from as they are.
    sp = callers_sp;
    find_below(caller + 20, FP_OF_CALLEE);
    CHECK_NONE();
}

int main(void)
{
    make_vm();
    make_stack();
    RUN(does_without_what_is_not_exported);
    RUN(in_the_middle_of_a_method);
    RUN(at_the_edges_of_a_method);
    RUN(not_at_what_resembles_an_edge);
    RUN(pushes_the_frame_pointer_for_other_reasons);
    RUN(before_a_method_has_begun);
    RUN(with_registers_pushed);
    RUN(the_sure_one_first);
    RUN(no_more_than_there_is_room_for);
    RUN(knows_calls_when_it_sees_one);
    RUN(looks_at_nothing_before_the_heap);
    RUN(called_by_the_interpreter);
    RUN(in_the_interpreter);
    RUN(below_a_routine);
    return 0;
}
