#include "cpython/probes/expression.h"

#include "core/session/probe_area.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 18

static bool parse_index(const uint8_t *text, size_t length, Py_ssize_t *index)
{
    bool negative = length && text[0] == '-';
    size_t i = negative;
    if (i == length || length - i > MAX_DIGITS)
        return false;
    Py_ssize_t value = 0;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *index = negative ? -value : value;
    return true;
}

static PyObject *interned(const uint8_t *text, size_t length)
{
    PyObject *string = PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)length, NULL);
    if (string)
        PyUnicode_InternInPlace(&string);
    else
        PyErr_Clear();
    return string;
}

static bool add(sonde_expression *expression, uint8_t what, const uint8_t *text, size_t length)
{
    int place = expression->count;
    bool begins = place == 0,
         closed = place && expression->steps[place - 1].what == SONDE_STEP_LENGTH;
    if (place == SONDE_MAX_STEPS || closed || begins != (what == SONDE_STEP_NAME))
        return false;
    expression->steps[place].what = what;
    switch (what) {
    case SONDE_STEP_NAME:
    case SONDE_STEP_ATTRIBUTE:
    case SONDE_STEP_KEY:
        if (!length && what != SONDE_STEP_KEY)
            return false;
        if (!(expression->steps[place].text = interned(text, length)))
            return false;
        break;
    case SONDE_STEP_INDEX:
        if (!parse_index(text, length, &expression->steps[place].index))
            return false;
        break;
    case SONDE_STEP_LENGTH:
        if (length)
            return false;
        break;
    default:
        return false;
    }
    expression->count++;
    return true;
}

bool sonde_expression_parse(sonde_expression *expression, const uint8_t *steps, size_t size)
{
    *expression = (sonde_expression){0};
    size_t at = 0;
    bool valid = size > 0;
    while (valid && at < size) {
        valid = size - at >= 2 && steps[at + 1] <= size - at - 2 &&
                add(expression, steps[at], steps + at + 2, steps[at + 1]);
        if (valid)
            at += 2u + steps[at + 1];
    }
    if (!valid)
        sonde_expression_forget(expression);
    return valid;
}

void sonde_expression_forget(sonde_expression *expression)
{
    for (int i = 0; i < SONDE_MAX_STEPS; i++)
        Py_CLEAR(expression->steps[i].text);
    expression->count = 0;
}

static sonde_stored length_of(PyObject *object)
{
    Py_ssize_t length = sonde_stored_length(object);
    PyObject *number = length < 0 ? NULL : PyLong_FromSsize_t(length);
    PyErr_Clear();
    return (sonde_stored){number, SONDE_PROBE_NO_CONTAINER};
}

sonde_stored sonde_expression_evaluate(const sonde_expression *expression, const frame_t *frame,
                                       const PyCodeObject *code, int local)
{
    sonde_stored now = sonde_stored_variable(frame, code, local, expression->steps[0].text);
    for (int i = 1; i < expression->count && now.value; i++) {
        PyObject *object = now.value, *text = expression->steps[i].text;
        if (expression->steps[i].what == SONDE_STEP_ATTRIBUTE)
            now = sonde_stored_attribute(object, text);
        else if (expression->steps[i].what == SONDE_STEP_LENGTH)
            now = length_of(object);
        else
            now = sonde_stored_item(object, expression->steps[i].index, text);
        Py_DECREF(object);
    }
    return now;
}
