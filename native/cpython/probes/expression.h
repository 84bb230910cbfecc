// What a probe reads: a variable, then attributes and items, at last a length.
#ifndef SONDE_CPYTHON_EXPRESSION_H
#define SONDE_CPYTHON_EXPRESSION_H

#include "cpython/probes/stored_value.h"

#define SONDE_MAX_STEPS 12

typedef struct {
    int count;
    struct {
        uint8_t what;
        PyObject *text; // of a name, attribute or key
        Py_ssize_t index;
    } steps[SONDE_MAX_STEPS];
} sonde_expression;

// From the steps that the recorder wrote, which may be anything. False: they are invalid, and
// nothing is kept. The caller holds the GIL, of all of these.
bool sonde_expression_parse(sonde_expression *expression, const uint8_t *steps, size_t size);
void sonde_expression_forget(sonde_expression *expression);

// The variable it begins with.
static inline PyObject *sonde_expression_variable(const sonde_expression *expression)
{
    return expression->steps[0].text;
}

// A length is a new int, so that one kind of result is enough. `local` as in stored_value.h.
sonde_stored sonde_expression_evaluate(const sonde_expression *expression, const frame_t *frame,
                                       const PyCodeObject *code, int local);

#endif
