// What a library of the program does to its process that the next tick must not meet. A tick is a
// SIGTRAP, which kills where the agent's handler is not in place:
// - signal actions. SIGTRAP stays ours: what is set for it is kept beside, as the preload library
//   does it in a program that sonde started. libuv, for one, sets all signals to their defaults in
//   a child that it forks. Handlers of other signals matter to core/signals/syscall_restart.h.
// - another program. What it executes must not meet this program's perf events: a tick that came
//   during the execution would be delivered to the new program (seen on 6.18).
//
// The calls of all loaded objects are hooked, and of those that are loaded later. System calls made
// without libc are not seen.
#ifndef SONDE_CPYTHON_LIBRARY_HOOKS_H
#define SONDE_CPYTHON_LIBRARY_HOOKS_H

#include <stdbool.h>

// `preloaded`: the preload library sees to all this, and only handlers that the interpreter sets
// are of interest. sonde_got_unhook takes the hooks out with all others.
void sonde_libraries_watch(bool preloaded);
// Hooks those that were loaded since, unless preloaded.
void sonde_libraries_watch_loaded(void);
// In a forked child, which may have been forked while another thread did that.
void sonde_libraries_forked(void);

#endif
