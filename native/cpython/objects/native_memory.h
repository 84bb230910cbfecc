// Memory that extension modules and libraries allocate themselves, from the C library.
#ifndef SONDE_CPYTHON_NATIVE_MEMORY_H
#define SONDE_CPYTHON_NATIVE_MEMORY_H

// Hooks what is loaded by now; may be called again after a library was loaded.
void sonde_native_memory_hook(void);
void sonde_native_memory_unhook(void);

#endif
