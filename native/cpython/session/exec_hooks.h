// In a process that sonde attached to there is no preload library that sees it execute another
// program. The interpreter's own calls are hooked in its global offset table.
#ifndef SONDE_CPYTHON_EXEC_HOOKS_H
#define SONDE_CPYTHON_EXEC_HOOKS_H

// Hooks them; sonde_got_unhook takes the hooks out with all others. May be called again after
// modules were loaded.
void sonde_execs_watch(void);

#endif
