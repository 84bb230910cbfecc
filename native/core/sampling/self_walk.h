// A thread walks its own stack in a signal handler; the runtime knows its frames.
#ifndef SONDE_CORE_SELF_WALK_H
#define SONDE_CORE_SELF_WALK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // REG_RIP
#endif
#include "core/base/hash.h"
#include "core/session/records.h"

#include <ucontext.h>

#if defined(__x86_64__)
static inline uintptr_t sonde_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}
static inline uintptr_t sonde_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
static inline uintptr_t sonde_context_fp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
}
// A thread whose registers are all the same has not run since.
static inline uint64_t sonde_context_hash(const ucontext_t *context)
{
    uint64_t hash = 0;
    for (int i = 0; i <= REG_RIP; i++)
        hash = sonde_hash(hash ^ (uint64_t)context->uc_mcontext.gregs[i]);
    return hash;
}
#else
#error "state where this processor keeps the interrupted instruction and stack pointer"
#endif

// Fills sonde_stack(thread) with the calling thread's stack and returns its depth; sets flags and
// interpreter of `event`. Runs under the memory guard, in a signal handler.
typedef uint32_t sonde_walk_self(sonde_thread *thread, const ucontext_t *context,
                                 sonde_event *event);

// Which function walks from now on.
void sonde_self_walk_use(sonde_walk_self *walk);

// Walks the calling thread's stack under the memory guard; one that cannot be walked is flagged.
uint32_t sonde_self_walk(sonde_thread *thread, const ucontext_t *context, sonde_event *event);

#endif
