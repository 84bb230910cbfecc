// Calls that the interpreter reports: by monitoring.c from 3.12 on, by profile_hook.c on 3.11.
#ifndef SONDE_CPYTHON_REPORTED_CALLS_H
#define SONDE_CPYTHON_REPORTED_CALLS_H

#include "cpython/calls/call_sink.h"

// Once per session: SONDE_CALLS_COUNTED, or why it cannot.
uint32_t sonde_reported_calls_prepare(void);
void sonde_reported_calls_forget(void);
bool sonde_reported_calls_begin(PyThreadState *state, sonde_call_scope how);
void sonde_reported_calls_end(PyThreadState *state);
// Is the window of this thread, once begun, still served? May be asked in a signal handler.
bool sonde_reported_calls_go_on(const PyThreadState *state);
// The program's tools do not get the returns of pending_calls.h, until there are none left; or get
// them again.
void sonde_pending_hide(PyThreadState *state);
void sonde_pending_show(PyThreadState *state);

#endif
