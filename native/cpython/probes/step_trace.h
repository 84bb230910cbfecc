// A step trace: every bytecode instruction that threads execute for a while, with the beginnings
// and ends of their functions, into the room that the session's area has for it. When that is full,
// the trace ends. From 3.12 on, by sys.monitoring.
//
// Words of 16 bits: the index of an instruction in its code object, or one of SONDE_WORD_*.
#ifndef SONDE_CPYTHON_STEP_TRACE_H
#define SONDE_CPYTHON_STEP_TRACE_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

// As in src/sonde/model/step_words.py.
enum {
    SONDE_WORD_FIRST = 0xff00,
    SONDE_WORD_CODE = 0xff00, // from here on instructions are of this code: its id in four words
    SONDE_WORD_START = 0xff01,
    SONDE_WORD_RESUME = 0xff02,
    SONDE_WORD_RETURN = 0xff03,
    SONDE_WORD_YIELD = 0xff04,
    SONDE_WORD_UNWIND = 0xff05, // left by an exception
    SONDE_WORD_THROW = 0xff06,  // resumed by one
    SONDE_WORD_FAR = 0xff07,    // an instruction of a large code object: its index in two words
};

// All with the GIL of the main interpreter.

// Begins what the recorder wants, if that is a trace of all threads; then it lasts until
// sonde_steps_end(). One of a span begins and ends with it.
void sonde_steps_apply(void);
void sonde_steps_end(void);
void sonde_steps_span_begins(const char *name, size_t length, uint32_t id);
void sonde_steps_span_ends(uint32_t id);
// The session is over.
void sonde_steps_remove(void);
void sonde_step_trace_forked(void);

// Without the GIL: whether a trace of all threads is under way and for how much longer; and
// whether events are still on although nothing is traced any more.
bool sonde_steps_are_due(uint64_t now, uint64_t *left_ns);

#endif
