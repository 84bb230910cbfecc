#define _GNU_SOURCE
#include "cpython/loops/coroutine.h"

#include "cpython/walk/walk.h"

#include <string.h>
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_genobject.h"
#endif

static bool is_generator(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyCoro_Type || type == &PyGen_Type || type == &PyAsyncGen_Type;
}

// Async generators begin with the same fields.
static PyGenObject *generator(PyObject *object) { return (PyGenObject *)object; }

enum sonde_coroutine_state sonde_coroutine_state_of(PyObject *coroutine)
{
    if (!is_generator(coroutine))
        return SONDE_COROUTINE_UNKNOWN;
    switch (generator(coroutine)->gi_frame_state) {
    case FRAME_CREATED:
        return SONDE_COROUTINE_CREATED;
#if PY_VERSION_HEX < 0x030F0000
    case FRAME_COMPLETED:
#endif
    case FRAME_CLEARED:
        return SONDE_COROUTINE_FINISHED;
    default:
        return SONDE_COROUTINE_BEGUN;
    }
}

static frame_t *frame_of(PyObject *coroutine)
{
    return (frame_t *)&generator(coroutine)->gi_iframe;
}

PyCodeObject *sonde_coroutine_code(PyObject *coroutine)
{
    if (!is_generator(coroutine) || sonde_coroutine_state_of(coroutine) == SONDE_COROUTINE_FINISHED)
        return NULL;
    PyCodeObject *code = frame_code(frame_of(coroutine));
    return code && Py_TYPE(code) == &PyCode_Type ? code : NULL;
}

static bool is_suspended(PyObject *coroutine)
{
    int state = generator(coroutine)->gi_frame_state;
#if PY_VERSION_HEX >= 0x030D0000
    return state == FRAME_SUSPENDED || state == FRAME_SUSPENDED_YIELD_FROM;
#else
    return state == FRAME_SUSPENDED;
#endif
}

// What a suspended frame delegates to lies on top of its stack of values.
static PyObject *delegate(PyObject *coroutine)
{
    frame_t *frame = frame_of(coroutine);
    PyCodeObject *code = frame_code(frame);
#if PY_VERSION_HEX >= 0x030E0000
    int top = (int)(frame->stackpointer - frame->localsplus);
    int reach = 2; // 3.15 keeps an index beside it
#else
    int top = frame->stacktop, reach = 1;
#endif
    for (int i = 1; i <= reach; i++) {
        int index = top - i;
        if (index < code->co_nlocalsplus || top > code->co_nlocalsplus + code->co_stacksize)
            return NULL;
#if PY_VERSION_HEX >= 0x030E0000
        if ((frame->localsplus[index].bits & 3) == 3) // an integer
            continue;
#endif
        PyObject *value = frame_value(frame, index);
        if (value && may_be_address(value))
            return value;
    }
    return NULL;
}

// Objects between a coroutine and the one it awaits: `async for` and `__await__` of coroutines.
static PyObject *unwrapped(PyObject *object)
{
    static PyTypeObject *wrapper; // which no header or module names
    PyTypeObject *type = Py_TYPE(object);
    if (!wrapper && strcmp(type->tp_name, "coroutine_wrapper") == 0)
        wrapper = type;
    if (type == &_PyAsyncGenASend_Type || type == wrapper) {
        PyObject *inner = ((PyObject **)object)[2]; // the first field of either
        return inner && is_generator(inner) ? inner : NULL;
    }
    return object;
}

uint32_t sonde_coroutine_stack(sonde_thread *thread, PyObject *coroutine, uint64_t *words,
                               uint32_t room, const void **object_of)
{
    uint32_t count = 0;
    *object_of = NULL;
    PyObject *object = coroutine;
    while (object && count < room && is_generator(object) && is_suspended(object)) {
        PyCodeObject *code;
        Py_ssize_t index;
        if (!frame_decode(frame_of(object), &code, &index))
            break;
        uint64_t id = sonde_cpython_id(thread, code);
        if (!id)
            break;
        words[count++] = id << SONDE_INSTR_BITS | ((uint64_t)(index + 1) & SONDE_INSTR_MASK);
        *object_of = code->co_argcount ? frame_value(frame_of(object), 0) : NULL;
        object = delegate(object);
        object = object ? unwrapped(object) : NULL;
    }
    for (uint32_t i = 0; i < count / 2; i++) { // they were found outermost first
        uint64_t word = words[i];
        words[i] = words[count - 1 - i];
        words[count - 1 - i] = word;
    }
    return count;
}
