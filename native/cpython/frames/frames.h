// What an interpreter frame looks like in each CPython this agent is built for.
// Checked against the headers of 3.11.7, 3.12.1, 3.13.0, 3.14 and 3.15.
#ifndef SONDE_CPYTHON_FRAMES_H
#define SONDE_CPYTHON_FRAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#undef _PyGC_FINALIZED // defined twice by the 3.11 and 3.12 headers
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif

#include <stdbool.h>
#include <stdint.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#error "the agent knows the frames of CPython 3.11 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "thread-local bytecode of free-threaded builds is not decoded yet"
#endif

typedef _PyInterpreterFrame frame_t;

static inline bool interpreter_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

// What is read from a thread that runs may be anything. No object of a program lies in the upper
// half of the address space, and all that are looked at here are aligned.
static inline bool may_be_address(const void *pointer)
{
    return !((uintptr_t)pointer & ((uintptr_t)-1 << 47 | 7));
}

// The executable of a frame, not yet known to be a code object.
static inline PyCodeObject *frame_code(const frame_t *f)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyCodeObject *)(f->f_executable.bits & ~(uintptr_t)3); // stack references are tagged
#elif PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)f->f_executable;
#else
    return f->f_code;
#endif
}

// Up to 3.12 the unit before the next instruction, from 3.13 the instruction itself.
static inline const _Py_CODEUNIT *frame_instr(const frame_t *f)
{
#if PY_VERSION_HEX >= 0x030D0000
    return f->instr_ptr;
#else
    return f->prev_instr;
#endif
}

static inline const PyFunctionObject *frame_function(const frame_t *f)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (const PyFunctionObject *)(f->f_funcobj.bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030C0000
    return (const PyFunctionObject *)f->f_funcobj;
#else
    return f->f_func;
#endif
}

// A local variable or a value on the frame's stack.
static inline PyObject *frame_value(const frame_t *f, int index)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyObject *)(f->localsplus[index].bits & ~(uintptr_t)3);
#else
    return f->localsplus[index];
#endif
}

#if PY_VERSION_HEX >= 0x030F0000
#define FRAME_OWNER_LAST FRAME_OWNED_BY_INTERPRETER
#elif PY_VERSION_HEX >= 0x030C0000
#define FRAME_OWNER_LAST FRAME_OWNED_BY_CSTACK
#else
#define FRAME_OWNER_LAST FRAME_OWNED_BY_FRAME_OBJECT
#endif

// A frame of the entry into the interpreter, not of Python code.
static inline bool frame_is_shim(const frame_t *f)
{
#if PY_VERSION_HEX >= 0x030E0000
    return f->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030C0000
    return f->owner == FRAME_OWNED_BY_CSTACK;
#else
    (void)f;
    return false;
#endif
}

// C code called this frame (3.11; later versions put a shim below it instead).
static inline bool frame_is_entry(const frame_t *f)
{
#if PY_VERSION_HEX < 0x030C0000
    return *(const unsigned char *)&f->is_entry; // may be more than 1, see sample_marks.h
#else
    (void)f;
    return false;
#endif
}

// Where the result of the call that a frame waits for will be pushed: the slot of its value stack
// above those in use. 0 if there is none.
static inline uintptr_t frame_result_slot(const frame_t *f, const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000
    Py_ssize_t top = f->stackpointer - f->localsplus;
#else
    Py_ssize_t top = f->stacktop;
#endif
    Py_ssize_t height = top - code->co_nlocalsplus;
    if (height < 0 || height >= code->co_stacksize)
        return 0;
    return (uintptr_t)&f->localsplus[top];
}

static inline const _Py_CODEUNIT *code_start(const PyCodeObject *code)
{
    return (const _Py_CODEUNIT *)code->co_code_adaptive;
}

// Is this really a code object with that instruction in it? `index` is -1 before the first one.
static inline bool frame_decode(const frame_t *f, PyCodeObject **code, Py_ssize_t *index)
{
    PyCodeObject *c = frame_code(f);
    if (!c || !may_be_address(c) || Py_TYPE(c) != &PyCode_Type)
        return false;
    Py_ssize_t i = frame_instr(f) - code_start(c);
    if (i < -1 || i > Py_SIZE(c))
        return false;
    *code = c;
    *index = i;
    return true;
}

#endif
