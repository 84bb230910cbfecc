// Reads that may fault: a memory fault inside a guarded body ends the body, not the target.
//
// The guard owns SIGSEGV and SIGBUS only while a body runs on the faulting thread; every other
// fault goes to the handler that was there before, with the same outcome as without us.
#ifndef SONDE_CORE_FAULT_GUARD_H
#define SONDE_CORE_FAULT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

// A function that looks at whatever lies at an address to find out what that is: AddressSanitizer
// would call it an error.
#define SONDE_FOREIGN __attribute__((no_sanitize_address))

void sonde_guard_install(void);
// Puts the previous handlers back where ours are still in place. Only while no body runs.
void sonde_guard_remove(void);

// Runs body(arg); false if it faulted. Bodies take no lock and own nothing; one
// may run inside another.
bool sonde_guard_run(void (*body)(void *), void *arg);

// The same without asking the kernel first whether the handler is still ours, which may take as
// long as the body: for who has just asked, or has no reason to fault.
bool sonde_guard_run_unchecked(void (*body)(void *), void *arg);
// Is it? If not, it is put back in place if possible.
bool sonde_guard_in_place(void);

// Can the guard catch a fault of this thread? Not where it has the signals blocked (some watchdogs
// block all): there a fault kills the process. For bodies that read what is not their thread's own.
bool sonde_guard_works_here(void);

// What the target believes `sig` to be; for the preload library, which answers sigaction with it.
// False if that signal is none of the guard's.
struct sigaction;
bool sonde_guard_user_action(int sig, const struct sigaction *set, struct sigaction *get);

#endif
