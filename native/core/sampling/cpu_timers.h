// Self-sampling where perf events are refused: a timer on each thread's CPU clock sends SIGTRAP to
// that thread, whose handler walks its own stack (sigtrap.h).
//
// The kernel looks at such timers at the scheduler's tick, in the thread that runs, and sends the
// signal on its way back to user mode: like a perf event's, it interrupts no system call (x86, 5.11
// and newer). So no thread gets more than CONFIG_HZ of them per second of CPU time.
#ifndef SONDE_CORE_CPU_TIMERS_H
#define SONDE_CORE_CPU_TIMERS_H

// Begins to give every thread of the process a timer, also those started later. 0 or an errno: then
// the kernel refuses timers.
int sonde_cpu_timers_start(void);
// Deletes them all.
void sonde_cpu_timers_stop(void);
// The calling thread has just started: gives it a timer at once rather than at the next check.
void sonde_cpu_timers_add_self(void);
// In a forked child, which has none of them.
void sonde_cpu_timers_forked(void);

#endif
