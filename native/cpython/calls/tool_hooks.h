// The functions by which a program turns its tools on and off (sys.setprofile, sys.monitoring.*,
// ...) are hooked where the interpreter keeps their addresses, in the method tables of the modules.
// So a window ends before the tool changes, and the program sees everything as it would without us.
#ifndef SONDE_CPYTHON_TOOL_HOOKS_H
#define SONDE_CPYTHON_TOOL_HOOKS_H

#include <Python.h>

#include <stdbool.h>

// Called when the program calls a hooked function, and when that has returned.
typedef struct {
    bool (*changes)(PyThreadState *state); // false if the hooks are not for this interpreter
    void (*changed)(PyThreadState *state);
} sonde_tool_watch;

// All with the GIL held. False if a module is not what it should be; those that are in place stay.
bool sonde_tool_hooks_set(const sonde_tool_watch *by);
void sonde_tool_hooks_remove(void);

// One of the hooked functions, as a new object that does not run its hook; NULL if there is none.
PyObject *sonde_unhooked(PyObject *module, const char *name);

#endif
