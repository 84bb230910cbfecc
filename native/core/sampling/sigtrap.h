// Self-sampling: perf events send SIGTRAP to the very thread that runs, which walks its own stack.
//
// A task-clock event fires per period of a thread's CPU time, a context-switch event (on request)
// once a thread is back from being off the CPU. The events themselves are opened by the recorder:
// no descriptor in the target, and they vanish with the recorder, however it dies.
#ifndef SONDE_CORE_SIGTRAP_H
#define SONDE_CORE_SIGTRAP_H

#include "core/sampling/self_walk.h"
#include "core/signals/signal_handover.h"

#include <stdbool.h>

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

// What the target believes SIGTRAP to be; for hooks that answer its calls of sigaction with it.
// False where our handler is not in place.
struct sigaction;
bool sonde_trap_user_action(const struct sigaction *set, struct sigaction *get);

#endif
