// Counting calls in windows (core/sampling/call_windows.h): which function calls which, how often,
// from where.
//
// A tick may come anywhere, and nothing can be switched on in a signal handler but by storing a
// pointer. So it stores the evaluator of frames (frame_evaluator.h): the next call of a Python
// function comes to us, and from there on call_events.h shows the calls.
#ifndef SONDE_CPYTHON_CALL_COUNTER_H
#define SONDE_CPYTHON_CALL_COUNTER_H

#include <stdbool.h>

// Both with the GIL held. The shared header states whether calls are counted, and if not why.
void sonde_calls_start(void);
void sonde_calls_stop(void);

// In a forked child, before anything of Python may be called. `followed`: it has a session.
void sonde_calls_forked(bool followed);

#endif
