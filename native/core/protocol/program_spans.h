// What the program states to its recording, in Java and C; Python has python_api.c.
#ifndef SONDE_CORE_PROGRAM_SPANS_H
#define SONDE_CORE_PROGRAM_SPANS_H

#include "core/session/session.h"

typedef struct {
    const void *frame, *code; // or a thread, as in spans.h
    uint32_t interpreter;
    uint32_t around; // the innermost span that is open there; 0: none
} sonde_span_place;

// What a span belongs to that the calling thread enters now. False: unknown at this moment.
typedef bool sonde_find_place(sonde_thread *thread, sonde_span_place *place);

void sonde_program_find_by(sonde_find_place *find);

// The number of a new span `within` that one, 0: within the one around it. 0 if it is not recorded.
uint32_t sonde_program_begin(const char *name, size_t length, uint32_t within);
void sonde_program_end(uint32_t number);
void sonde_program_attribute(uint32_t number, const char *text, size_t length);
void sonde_program_mark(const char *text, size_t length);
void sonde_program_control(int pause);

#endif
