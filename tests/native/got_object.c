// An object whose calls into libc are hooked; built once with and once without full RELRO.
#include <unistd.h>

int call_getppid(void) { return getppid(); }
int call_getpid(void) { return getpid(); }
int (*take_getppid(void))(void) { return getppid; } // a slot for data, not for calls
