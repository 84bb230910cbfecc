// What spans belong to that C code of the process enters, and the spans around Python functions.
#ifndef SONDE_CPYTHON_C_SPANS_H
#define SONDE_CPYTHON_C_SPANS_H

#include <stdint.h>

struct _PyInterpreterFrame;

// C code finds the agent from here on, see program_spans.h.
void sonde_c_spans_offer(void);

// The frame of the Python code that called it; NULL: none did.
struct _PyInterpreterFrame *sonde_cpython_caller(struct _PyInterpreterFrame *frame);

// The innermost span that is open in a frame of the calling thread or in its callers; 0: none.
uint32_t sonde_cpython_span_around(struct _PyInterpreterFrame *frame);

#endif
