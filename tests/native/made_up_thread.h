// A thread of the made-up VM: its stack, from the outside in, its registers, and what is found by
// them.
#ifndef SONDE_MADE_UP_THREAD_H
#define SONDE_MADE_UP_THREAD_H

#include "hotspot/walk/walk_start.h"
#include "made_up_vm.h"

#define WORDS 1024
// What may be read above a stack pointer.
#define ABOVE 300

extern uintptr_t *stack, *sp;
// What is in the register of frame pointers may be anything in compiled code.
#define FP_OF_OUTER 0x1001u
#define FP_OF_CALLER 0x2002u
#define FP_OF_CALLEE 0x3003u

// Once, before anything else.
void make_stack(void);

void push(uintptr_t word);
void push_many(unsigned words);
// A method that was called has saved the register, and made room.
void push_frame(unsigned words, uintptr_t saved);
// The interpreter has called one method, and that the other, which is about to call.
void begin_in_caller(void);

extern ucontext_t context;
extern sonde_places found;

// By where it is, and its frame pointer.
void find(const void *pc, uintptr_t fp, bool in_java);
// Where it has left Java.
void find_below(const void *pc, uintptr_t fp);

#define CHECK_PLACE(number, pc_, fp_, sp_)                                                         \
    do {                                                                                           \
        CHECK_EQUAL(found.places[number].pc, pc_);                                                 \
        CHECK_EQUAL(found.places[number].fp, fp_);                                                 \
        CHECK_EQUAL(found.places[number].sp - stack, (sp_) - stack);                               \
    } while (0)

#define CHECK_ONE(pc_, fp_, sp_)                                                                   \
    do {                                                                                           \
        CHECK(!found.walkable);                                                                    \
        CHECK_EQUAL(found.count, 1);                                                               \
        CHECK_PLACE(0, pc_, fp_, sp_);                                                             \
    } while (0)

#define CHECK_NONE()                                                                               \
    do {                                                                                           \
        CHECK(!found.walkable);                                                                    \
        CHECK_EQUAL(found.count, 0);                                                               \
    } while (0)

#endif
