// Handlers that the program sets from Python: whether they restart system calls matters to our own
// (core/signals/syscall_restart.h). SIGTRAP stays ours: what the program sets for it is kept
// beside, as the preload library does it in a program that sonde started.
#ifndef SONDE_CPYTHON_SIGACTION_HOOKS_H
#define SONDE_CPYTHON_SIGACTION_HOOKS_H

// Hooks the interpreter's calls; sonde_got_unhook takes the hooks out with all others.
void sonde_signal_actions_watch(void);

#endif
