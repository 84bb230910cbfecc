// Libraries that the program loads while a session hooks libraries.
#ifndef SONDE_CORE_LIBRARY_LOADS_H
#define SONDE_CORE_LIBRARY_LOADS_H

typedef void sonde_library_loaded(const char *file);

// Calls `loaded` after each library that was loaded through a hooked dlopen, while the session
// lasts; asking twice is asking once.
void sonde_library_loads_watch(sonde_library_loaded *loaded);
void sonde_library_loads_leave(sonde_library_loaded *loaded);

// Hooks the calls of dlopen of the interpreter, which `inside` lies in, and of its ctypes, also
// where that is loaded later; sonde_got_unhook takes them out.
void sonde_library_loads_hook(const void *inside);

#endif
