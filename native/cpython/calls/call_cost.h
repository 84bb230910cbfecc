// The overhead of seeing calls, besides what is measured.
//
// A window is weighed by the time its calls took. Where calls are dense most of that is the
// interpreter reporting them: left in, it would make dense parts look sparser than they are. From
// the report of a call until we return is measured each time, and from 3.12 on all between the two
// reports of a call of a Python function, see call_accounting.h. The rest is an estimate.
#ifndef SONDE_CPYTHON_CALL_COST_H
#define SONDE_CPYTHON_CALL_COST_H

#include "cpython/frames/frames.h"

#include <stdbool.h>
#include <stdint.h>

// By the processor's counter. What is measured has the call itself in it, too, which is the
// program's own: then the rest may be negative.
typedef struct {
    int64_t start, announced, native; // a Python function begins, is called by Python, C is called
    int64_t frame, over;   // a Python function is called, seen by the evaluator; and passed over
    double unit;           // a code object is met for the first time in a window, per code
                           // unit: from 3.12 on other instructions are put into it
    uint64_t python, in_c; // no call takes less, reported or not
} sonde_call_cost;

extern sonde_call_cost sonde_cost_of;

// Calls functions of our own with and without reports. With the GIL held, which other threads get
// in between: false if one of them disturbed it.
bool sonde_call_cost_measure(void);
// Ends that, if it is going on, at its next step: from now on it switches nothing on, and tools get
// no events of it, unless it is going on in this very thread.
void sonde_call_cost_abandon(PyThreadState *by);
// In a forked child: the thread that measured may not be there.
void sonde_call_cost_forked(void);

// Is that going on? Then a call that is seen is none of the program's, and what was measured of it
// goes here.
typedef enum { SONDE_COST_KNOWN, SONDE_COST_SEEN, SONDE_COST_OVER } sonde_measuring;
extern sonde_measuring sonde_call_cost_measuring;
extern uint64_t sonde_call_cost_measured;

#endif
