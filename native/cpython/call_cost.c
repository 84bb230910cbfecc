#include "call_cost.h"

#include "seen_calls.h"

#include <x86intrin.h>

sonde_call_cost sonde_cost_of;
bool sonde_call_cost_measuring;

// Enough for the interpreter to specialise what is called; the fastest was not disturbed.
#define CALLS 40

static uint64_t fastest(PyObject *function, PyObject *argument)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < CALLS; i++) {
        uint64_t tsc = __rdtsc();
        PyObject *result = PyObject_CallOneArg(function, argument);
        tsc = __rdtsc() - tsc;
        if (!result)
            return 0;
        Py_DECREF(result);
        if (tsc < best)
            best = tsc;
    }
    return best;
}

// What the first call takes after calls have begun to be told, at best.
#define BEGINNINGS 8

static uint64_t fastest_first(PyThreadState *state, PyObject *function, PyObject *argument)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < BEGINNINGS && best; i++) {
        sonde_seen_calls_end(state);
        // Without a call in between the code would still be as it was.
        PyObject *result = PyObject_CallOneArg(function, argument);
        Py_XDECREF(result);
        if (!result || !sonde_seen_calls_begin(state))
            return 0;
        uint64_t tsc = __rdtsc();
        result = PyObject_CallOneArg(function, argument);
        tsc = __rdtsc() - tsc;
        Py_XDECREF(result);
        if (!result)
            return 0;
        if (tsc < best)
            best = tsc;
    }
    return best;
}

static uint64_t more(uint64_t seen, uint64_t unseen) { return seen > unseen ? seen - unseen : 0; }

// Both are there since the interpreter came up, and have no effects: the one does nothing, the
// other calls one C function.
static void measure(PyObject *codecs)
{
    PyObject *decoder = PyObject_GetAttrString(codecs, "IncrementalDecoder");
    PyObject *idle = decoder ? PyObject_GetAttrString(decoder, "reset") : NULL;
    PyObject *asks = PyObject_GetAttrString(codecs, "getencoder");
    PyObject *name = PyUnicode_FromString("utf-8");
    if (idle && asks && name && PyFunction_Check(idle) && PyFunction_Check(asks)) {
        uint64_t idle_takes = fastest(idle, Py_None), asks_takes = fastest(asks, name);
        PyThreadState *state = PyThreadState_Get();
        sonde_call_cost_measuring = true;
        if (sonde_seen_calls_begin(state)) {
            uint64_t start = more(fastest(idle, Py_None), idle_takes);
            uint64_t asks_seen = fastest(asks, name), both = more(asks_seen, asks_takes);
            uint64_t first = more(fastest_first(state, asks, name), asks_seen);
            Py_ssize_t units = Py_SIZE(PyFunction_GET_CODE(asks));
            sonde_seen_calls_end(state);
            sonde_cost_of = (sonde_call_cost){
                start, more(both, start),
                CALLS_OF_ALL_THREADS && units > 0 ? (double)first / (double)units : 0};
        }
        sonde_call_cost_measuring = false;
    }
    Py_XDECREF(decoder);
    Py_XDECREF(idle);
    Py_XDECREF(asks);
    Py_XDECREF(name);
    PyErr_Clear();
}

void sonde_call_cost_measure(void)
{
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    PyObject *codecs = modules ? PyDict_GetItemString(modules, "codecs") : NULL;
    if (codecs && PyModule_Check(codecs))
        measure(codecs);
}
