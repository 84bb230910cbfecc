// System calls that the kernel restarts because SIGTRAP was delivered first.
//
// A signal of the program ends a blocked call. If a perf event fires on the same way out of the
// kernel, its SIGTRAP is delivered before that signal: it is synchronous. The kernel then sees
// SA_RESTART and moves the instruction pointer back to the `syscall` instruction, whatever the
// program's own handler asked for. That handler runs on top of ours, before our first instruction,
// and has nothing left to interrupt. So ours looks whether a handler without SA_RESTART ran there,
// and if so lets the call return EINTR, as it would have without us.
//
// Blocking all signals in the handler instead would make the pending one visible, but the kernel
// then offers it to another thread of the process, and sigsuspend, ppoll and their like would
// return without their handler having run (both seen on 6.18).
#ifndef SONDE_CORE_SYSCALL_RESTART_H
#define SONDE_CORE_SYSCALL_RESTART_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // REG_RIP
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

// Learns what this processor leaves in the registers of a system call. Before the first signal.
void sonde_restart_prepare(void);

// In the handler of SIGTRAP, before anything else uses the stack: `handler` is the address that the
// kernel entered. Lets a call return EINTR that a handler of the program has interrupted.
void sonde_restart_check(ucontext_t *context, uintptr_t handler);

// The same where SIGTRAP itself was sent to the program, which has `action` for it.
void sonde_restart_as(ucontext_t *context, const struct sigaction *action);

// The same where one of `signals` (bit N - 1 for signal N) was handled by another thread for the
// one that `context` interrupted.
void sonde_restart_for(ucontext_t *context, uint64_t signals);

// A signal frame does not say which handler ran. So where the program has handlers of both kinds,
// those with SA_RESTART wait until ours has returned: the signals to block in it, as a bit each.
uint64_t sonde_restart_mask(void);

#endif
