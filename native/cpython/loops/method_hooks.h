// Methods of built-in types with functions of ours in their place: those of the deque that loops
// put callbacks into and take them from, and the one by which asyncio calls a callback.
//
// Their definitions are static and read at each call, so nothing else changes: neither the methods'
// objects nor what the interpreter has specialized.
#ifndef SONDE_CPYTHON_METHOD_HOOKS_H
#define SONDE_CPYTHON_METHOD_HOOKS_H

#include <stdbool.h>

// With the GIL. False: a definition is not as we know it, and none is changed.
bool sonde_methods_hook(void);
// Calls that are in a hook stay in it. No GIL is needed in a child that was forked.
void sonde_methods_unhook(void);

#endif
