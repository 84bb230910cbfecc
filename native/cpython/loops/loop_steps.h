// The steps of event loops: when a callback became ready, when it began and when it ended, and what
// that means for its task and for those that waited meanwhile.
//
// A step begins when the loop calls a callback and ends when that returns. All of these are called
// with the GIL.
#ifndef SONDE_CPYTHON_LOOP_STEPS_H
#define SONDE_CPYTHON_LOOP_STEPS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

void sonde_steps_start(void);
void sonde_steps_stop(void); // steps that are under way end unseen
// Writes all that was only added up; the process may be ending.
void sonde_steps_report(void);
// In a forked child, where only one thread is left.
void sonde_steps_forked(void);
// The same without a session of its own.
void sonde_steps_abandon(void);

// A handle is put into a deque, or was taken from it, by the loop.
void sonde_handle_ready(PyObject *deque, PyObject *handle);
void sonde_handle_taken(PyObject *deque, PyObject *handle);

// The calling thread is about to call a callback, with this as first argument, or NULL. False: it
// is no step, or in one. A step that began ends with sonde_step_end, also where the session has
// ended meanwhile.
bool sonde_step_begin(PyObject *callback, PyObject *argument);
void sonde_step_end(PyObject *callback);
// Of a loop in C, which has taken the handle.
bool sonde_step_begin_taken(void);
void sonde_step_end_taken(void);

#endif
