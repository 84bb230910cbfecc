// The GIL's state, from the interpreter's own record.
#ifndef SONDE_CPYTHON_GIL_STATE_H
#define SONDE_CPYTHON_GIL_STATE_H

#include "cpython/frames/frames.h"

#if PY_VERSION_HEX < 0x030C0000
#include "internal/pycore_gil.h"
#endif

static inline bool sonde_gil_is_locked(struct _gil_runtime_state *gil)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _Py_atomic_load_int_relaxed(&gil->locked) != 0;
#else
    return _Py_atomic_load_relaxed(&gil->locked) != 0;
#endif
}

// The thread state that holds it, or held it last.
static inline const PyThreadState *sonde_gil_holder(const struct _gil_runtime_state *gil)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _Py_atomic_load_ptr_relaxed(&gil->last_holder);
#else
    return (const PyThreadState *)_Py_atomic_load_relaxed(&gil->last_holder);
#endif
}

#endif
