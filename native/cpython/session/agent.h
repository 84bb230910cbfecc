// What other parts of the agent call; src/sonde/record and the preload library call them by name.
#ifndef SONDE_CPYTHON_AGENT_H
#define SONDE_CPYTHON_AGENT_H

#include <Python.h>
#include <stdint.h>

int sonde_agent_start(const char *path, uint32_t reason);
void sonde_agent_stop(void);

// Reports the name of a threading.Thread, if it can be read without running the program's code.
void sonde_agent_describe(PyObject *thread_object);

// Ends a session in a process that was attached to; the caller holds the GIL, which is released
// meanwhile.
void sonde_agent_leave(void);

#endif
