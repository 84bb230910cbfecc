// A tool id of sys.monitoring, taken for the agent where the interpreter keeps who has which:
// sys.monitoring's own functions raise audit events, which the program would see. From 3.12 on,
// with the GIL held. A program sees by sys.monitoring.get_tool() that the id is in use.
#ifndef SONDE_CPYTHON_TOOL_ID_H
#define SONDE_CPYTHON_TOOL_ID_H

#include "cpython/frames/frames.h"

#define SONDE_HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)

// Ids that are ours, one bit each: no tools of the program.
extern unsigned sonde_own_tools;

#if SONDE_HAS_MONITORING
// An id that is free now; -1: there is none. It stays until it is released.
int sonde_tool_acquire(PyInterpreterState *interpreter);
// Its callbacks are dropped, too. No code object has events of it any more.
void sonde_tool_release(PyInterpreterState *interpreter, int tool);

// What is called at an event, of PY_MONITORING_EVENT_*.
void sonde_tool_set_callback(PyInterpreterState *interpreter, int tool, int event,
                             PyObject *callback);

// Sets the events that the tool gets of one code object, or of all (NULL); an exception that is set
// stays. False: it cannot.
bool sonde_tool_set_events(int tool, PyCodeObject *code, unsigned events);
#endif

#endif
