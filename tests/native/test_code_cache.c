// Where a VM has its code, and what it is: of one that is made up.
#include "hotspot/vm/code_cache.h"
#include "made_up_vm.h"

#include <string.h>
#include <sys/mman.h>

static void knows_its_blobs(void)
{
    sonde_blob blob;
    CHECK(sonde_blob_at((uintptr_t)callee, &blob));
    CHECK(blob.is_method);
    CHECK_EQUAL(blob.words, CALLEE);
    CHECK_EQUAL(blob.from, (uintptr_t)callee - CODE + sizeof(heap_block));
    CHECK(sonde_blob_at((uintptr_t)callee + 4 * SEGMENT - CODE - 1, &blob));
    CHECK_EQUAL(blob.words, CALLEE);
    CHECK(sonde_blob_at((uintptr_t)stub + 1, &blob));
    CHECK(!blob.is_method);
    CHECK_EQUAL(blob.words, STUB);
    // What describes a block is no part of what is in it.
    CHECK(!sonde_blob_at((uintptr_t)callee - CODE, &blob));
    CHECK(sonde_is_generated((uintptr_t)callee - CODE));
    // More steps back than a byte holds.
    uint8_t *large = make_blob(METHOD, 3, 300);
    for (unsigned at = 0; at < 300 * SEGMENT - CODE; at += 61) {
        CHECK(sonde_blob_at((uintptr_t)large + at, &blob));
        CHECK_EQUAL(blob.from, (uintptr_t)large - CODE + sizeof(heap_block));
    }
    // A method that is no more.
    memset(map + used - 300, FREE, 300);
    used -= 300;
    for (unsigned at = 0; at < 300 * SEGMENT - CODE; at += 61) {
        CHECK(sonde_is_generated((uintptr_t)large + at));
        CHECK(!sonde_blob_at((uintptr_t)large + at, &blob));
    }
    // A map that leads out of it: it is read while it changes.
    uint8_t steps = map[2];
    map[2] = 3;
    CHECK(!sonde_blob_at(heap.memory.low + 2 * SEGMENT + 5, &blob));
    map[2] = steps;
    CHECK(sonde_blob_at(heap.memory.low + 2 * SEGMENT + 5, &blob));
    // One that begins as a method is called, but is something else.
    CHECK(sonde_blob_at((uintptr_t)make_blob("nmethods", 3, 1), &blob));
    CHECK(!blob.is_method);
    CHECK(sonde_blob_at((uintptr_t)make_blob(NULL, 3, 1), &blob));
    CHECK(!blob.is_method);
}

static void knows_what_is_generated(void)
{
    uintptr_t low = heap.memory.low, high = heap.memory.high;
    CHECK(sonde_is_generated(low) && sonde_is_generated(high - 1));
    CHECK(!sonde_is_generated(low - 1) && !sonde_is_generated(high));
    CHECK(!sonde_is_generated(0) && !sonde_is_generated(UINTPTR_MAX));
    uintptr_t from = (uintptr_t)interpreter, to = from + 8 * SEGMENT - CODE;
    CHECK(sonde_is_interpreter(from) && sonde_is_interpreter(to - 1));
    CHECK(!sonde_is_interpreter(from - 1) && !sonde_is_interpreter(to));
    CHECK(sonde_is_vm_code((uintptr_t)vm_function));
    CHECK(!sonde_is_vm_code((uintptr_t)knows_what_is_generated) && !sonde_is_vm_code(low));
}

// Code is made while we look: nothing of it was asked for once and for all.
static void sees_the_heap_grow(void)
{
    sonde_blob blob;
    uintptr_t end = heap.memory.high;
    CHECK(!sonde_blob_at(end + CODE, &blob));
    CHECK(mprotect((void *)end, PAGE, PROT_READ | PROT_WRITE) == 0);
    heap.memory.high += PAGE;
    put_head(SEGMENTS, METHOD, 4);
    map[SEGMENTS] = 0;
    CHECK(sonde_blob_at(end + CODE, &blob));
    CHECK_EQUAL(blob.words, 4);
    heap.memory.high -= PAGE;
    CHECK(mprotect((void *)end, PAGE, PROT_NONE) == 0);
    CHECK(!sonde_blob_at(end + CODE, &blob));
}

static void knows_compilations(void)
{
    sonde_blob one, other;
    uint8_t *code = make_blob(METHOD, 3, 4);
    CHECK(sonde_blob_at((uintptr_t)code + 1, &one));
    CHECK_EQUAL(one.number, blobs_made);
    CHECK_EQUAL(one.code_to, one.from + STUBS);
    // Compiled again, and put where the first one was.
    used -= 4;
    CHECK(make_blob(METHOD, 3, 4) == code && sonde_blob_at((uintptr_t)code + 1, &other));
    CHECK_EQUAL(other.from, one.from);
    CHECK(other.number != one.number);
}

static void knows_where_java_is_entered(void)
{
    java_call call = {0};
    uintptr_t frame[8] = {[1] = (uintptr_t)&call};
    CHECK(sonde_is_entry(entry) && !sonde_is_entry(entry + 1) && !sonde_is_entry(0));
    CHECK(sonde_is_first_entry((uintptr_t)(frame + 7)));
    call.left.sp = frame;
    CHECK(!sonde_is_first_entry((uintptr_t)(frame + 7)));
}

static void does_without_what_is_not_exported(void)
{
    for (struct_entry *exported = first_spare; exported->type; exported++) {
        const char *field = exported->field;
        sonde_blob blob;
        exported->field = "_other";
        sonde_vm_code_prepare();
        CHECK(sonde_blob_at((uintptr_t)callee, &blob));
        CHECK(!blob.number || !sonde_is_entry(entry));
        CHECK(!sonde_is_entry(0));
        exported->field = field;
    }
    sonde_vm_code_prepare();
}

int main(void)
{
    make_vm();
    RUN(knows_its_blobs);
    RUN(knows_what_is_generated);
    RUN(sees_the_heap_grow);
    RUN(knows_compilations);
    RUN(knows_where_java_is_entered);
    RUN(does_without_what_is_not_exported);
    return 0;
}
