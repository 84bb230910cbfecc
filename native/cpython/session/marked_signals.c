#include "cpython/session/marked_signals.h"

#include "cpython/frames/frames.h"

#if PY_VERSION_HEX >= 0x030C0000

// The offset of `signals` could differ in another patch release than the one we were built for.
// What Python sets there at its start says whether we look at the right place.
static bool is_known;

void sonde_marked_signals_prepare(void)
{
    // Small numbers are one object each, which is always there.
    PyObject *first = PyLong_FromLong((long)SIG_DFL), *second = PyLong_FromLong((long)SIG_IGN);
    is_known =
        _PyRuntime.signals.default_handler == first && _PyRuntime.signals.ignore_handler == second;
    Py_DECREF(first);
    Py_DECREF(second);
}

uint64_t sonde_cpython_marked_signals(void)
{
    volatile struct _signals_runtime_state *its = &_PyRuntime.signals;
    if (!is_known || !*(volatile int *)&its->is_tripped)
        return 0;
    uint64_t signals = 0;
    for (int i = 1; i < Py_NSIG && i <= 64; i++)
        if (*(volatile int *)&its->handlers[i].tripped)
            signals |= (uint64_t)1 << (i - 1);
    return signals;
}

#else

void sonde_marked_signals_prepare(void) {}

// 3.11 keeps to itself which signals these are. So where a program has handlers of both kinds, one
// with SA_RESTART that another thread has taken interrupts the main thread's call as well.
uint64_t sonde_cpython_marked_signals(void)
{
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) ? UINT64_MAX : 0;
}

#endif
