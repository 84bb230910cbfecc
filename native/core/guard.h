// Reads that may fault: a memory fault inside a guarded body ends the body, not the target.
//
// The guard owns SIGSEGV and SIGBUS only while a body runs on the faulting thread; every other
// fault goes to whoever had the signal before, with the same outcome as without us.
#ifndef SONDE_GUARD_H
#define SONDE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

void sonde_guard_install(void);
// Puts the previous handlers back where ours are still in place. Only while no body runs.
void sonde_guard_remove(void);

// Runs body(arg); false if it faulted. Bodies do not nest, take no lock and own nothing.
bool sonde_guard_run(void (*body)(void *), void *arg);

// The same for a body that reads only what is the calling thread's own, at a moment it chose
// itself. It has no reason to fault, so the kernel is not asked whether the handler is still ours:
// that would take as long as the body.
bool sonde_guard_run_own(void (*body)(void *), void *arg);

// Can the guard catch a fault of this thread? Not where it has the signals blocked (some watchdogs
// block all): there a fault kills the process. For bodies that read what is not their thread's own.
bool sonde_guard_works_here(void);

// What the target believes `sig` to be; for the preload library, which answers sigaction with it.
// False if the guard has no hand on that signal.
struct sigaction;
bool sonde_guard_user_action(int sig, const struct sigaction *set, struct sigaction *get);

#endif
