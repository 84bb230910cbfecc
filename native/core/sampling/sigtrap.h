// Self-sampling: perf events send SIGTRAP to the very thread that runs, which walks its own stack.
//
// A task-clock event fires per period of a thread's CPU time, a context-switch event (on request)
// once a thread is back from being off the CPU. The events themselves are opened by the recorder:
// no descriptor in the target, and they vanish with the recorder, however it dies.
#ifndef SONDE_TRAP_H
#define SONDE_TRAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // REG_RIP
#endif
#include "core/session/session.h"
#include "core/signals/signal_handover.h"

#include <stdbool.h>
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
        hash = (hash ^ (uint64_t)context->uc_mcontext.gregs[i]) * 0x9e3779b97f4a7c15u;
    return hash;
}
#else
#error "tell where this processor keeps the interrupted instruction and stack pointer"
#endif

// Fills sonde_stack(thread) with the calling thread's stack and returns its depth; sets flags and
// interpreter of `event`. Runs under the memory guard, in a signal handler.
typedef uint32_t sonde_walk_self(sonde_thread *thread, const ucontext_t *context,
                                 sonde_event *event);

// Walks the calling thread's stack under the memory guard; one that cannot be walked is flagged.
uint32_t sonde_trap_walk(sonde_thread *thread, const ucontext_t *context, sonde_event *event);

// Takes SIGTRAP. The handler stays for good: a signal still in flight after the events are closed
// would otherwise kill the target. Signals that are not perf's go to the previous handler. `marked`
// as in signal_handover.h.
void sonde_trap_install(sonde_walk_self *walk, sonde_marked_signals *marked);

// The target's handlers may have changed: sees to it that those which interrupt system calls still
// do (syscall_restart.h). Some 10 us.
void sonde_trap_refresh(void);

// Its address is the value of the timers whose SIGTRAP is a tick of the thread's CPU clock, see
// cpu_timers.h.
extern const char sonde_timer_tick;

// What the target believes SIGTRAP to be; for those who answer its calls of sigaction with it.
// False where our handler is not in place.
struct sigaction;
bool sonde_trap_user_action(const struct sigaction *set, struct sigaction *get);

#endif
