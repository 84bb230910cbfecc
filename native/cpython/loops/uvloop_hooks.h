// uvloop calls callbacks from C, between PyContext_Enter and PyContext_Exit.
#ifndef SONDE_CPYTHON_UVLOOP_HOOKS_H
#define SONDE_CPYTHON_UVLOOP_HOOKS_H

// Hooks its library, or waits until the program loads it.
void sonde_uvloop_hook(void);
void sonde_uvloop_unhook(void);

#endif
