// What seeing calls costs the program besides what we do ourselves.
//
// A window is weighed by the time its calls took. Where calls are dense most of that is the
// interpreter telling us of them: left in, it would make dense parts look sparser than they are.
#ifndef SONDE_CALL_COST_H
#define SONDE_CALL_COST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {            // by the processor's counter
    uint64_t start, native; // a Python function begins, C is called
    double unit;            // a code object is met for the first time in a window, per code unit:
                            // from 3.12 on the interpreter puts other instructions into it
} sonde_call_cost;

extern sonde_call_cost sonde_cost_of;

// Calls a few functions of the standard library with and without being told. With the GIL held;
// nobody else is told of calls meanwhile.
void sonde_call_cost_measure(void);

// Is that going on? Then a call that is seen is none of the program's.
extern bool sonde_call_cost_measuring;

#endif
