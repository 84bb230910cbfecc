#define _GNU_SOURCE
#include "made_up_thread.h"

#include <string.h>
#include <sys/mman.h>

uintptr_t *stack, *sp;
ucontext_t context;
sonde_places found;

void make_stack(void)
{
    size_t length = WORDS * sizeof *stack;
    uint8_t *at = reserve(0, length + 2 * PAGE);
    CHECK(mprotect(at + PAGE, length, PROT_READ | PROT_WRITE) == 0);
    stack = (uintptr_t *)(void *)(at + PAGE);
}

void push(uintptr_t word) { *--sp = word; }

void push_many(unsigned words)
{
    while (words--)
        push(0);
}

void push_frame(unsigned words, uintptr_t saved)
{
    push(saved);
    push_many(words - 2);
}

void begin_in_caller(void)
{
    memset(stack, 0, WORDS * sizeof *stack);
    sp = stack + WORDS - ABOVE;
    uintptr_t interpreters_fp = (uintptr_t)(sp + 20);
    push(in_interpreter);
    push_frame(OUTER, interpreters_fp);
    push(in_outer);
    push_frame(CALLER, FP_OF_OUTER);
}

void find(const void *pc, uintptr_t fp, bool in_java)
{
    greg_t *registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = (greg_t)pc;
    registers[REG_RSP] = (greg_t)sp;
    registers[REG_RBP] = (greg_t)fp;
    memset(&found, 0x5a, sizeof found);
    found.walkable = true;
    sonde_find_places(&context, in_java, &found);
}

void find_below(const void *pc, uintptr_t fp)
{
    memset(&found, 0x5a, sizeof found);
    found.walkable = true;
    sonde_find_places_below(&(sonde_place){(uintptr_t)pc, fp, sp}, &found);
}
