// What CPython's objects look like inside, as far as a walk over the heap needs to know.
// Checked against the headers of 3.11.7, 3.12.1, 3.13.0, 3.14 and 3.15.
#ifndef SONDE_CPYTHON_HEAP_LAYOUTS_H
#define SONDE_CPYTHON_HEAP_LAYOUTS_H

#include "cpython/frames/frames.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_object.h"
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define HEAP_MEMBER_OBJECT T_OBJECT
#define HEAP_MEMBER_OBJECT_EX T_OBJECT_EX
#else
#define HEAP_MEMBER_OBJECT 6 // _Py_T_OBJECT
#define HEAP_MEMBER_OBJECT_EX Py_T_OBJECT_EX
#endif

#include <string.h>

static inline bool heap_is_immortal(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030C0000
    return _Py_IsImmortal(object);
#else
    return Py_REFCNT(object) > 1 << 30;
#endif
}

static inline bool heap_is_tracked(PyObject *object)
{
    return PyObject_IS_GC(object) && _PyObject_GC_IS_TRACKED(object);
}

// The dictionary of an instance, and the values that lie in or beside the instance instead.
typedef struct {
    PyObject *dict;
    PyDictValues *values;
    PyDictKeysObject *keys; // of the values
} heap_attributes;

static inline heap_attributes heap_attributes_of(PyObject *object)
{
    heap_attributes found = {NULL, NULL, NULL};
    PyTypeObject *type = Py_TYPE(object);
    if (PyType_Check(object)) {
#if PY_VERSION_HEX >= 0x030C0000
        found.dict = _PyType_GetDict((PyTypeObject *)object);
#else
        found.dict = ((PyTypeObject *)object)->tp_dict;
#endif
        return found;
    }
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
#if PY_VERSION_HEX >= 0x030D0000
        found.dict = (PyObject *)_PyObject_GetManagedDict(object);
        if (type->tp_flags & Py_TPFLAGS_INLINE_VALUES && _PyObject_InlineValues(object)->valid)
            found.values = _PyObject_InlineValues(object);
#elif PY_VERSION_HEX >= 0x030C0000
        PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
        if (_PyDictOrValues_IsValues(either))
            found.values = _PyDictOrValues_GetValues(either);
        else
            found.dict = _PyDictOrValues_GetDict(either);
#else
        found.values = *_PyObject_ValuesPointer(object);
        if (!found.values)
            found.dict = *_PyObject_ManagedDictPointer(object);
#endif
        found.keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
        if (!found.keys)
            found.values = NULL;
    } else if (PyModule_Check(object))
        found.dict = ((PyModuleObject *)object)->md_dict;
    else if (type->tp_dictoffset > 0)
        found.dict = *(PyObject **)((char *)object + type->tp_dictoffset);
    if (found.dict && !PyDict_Check(found.dict))
        found.dict = NULL;
    return found;
}

// Whether these are values of an instance that lie in it, which the instance shows already.
static inline bool heap_values_are_embedded(const PyDictValues *values)
{
#if PY_VERSION_HEX >= 0x030D0000
    return values->embedded;
#else
    (void)values;
    return false;
#endif
}

static inline size_t heap_keys_usable(const PyDictKeysObject *keys)
{
    return ((size_t)1 << keys->dk_log2_size << 1) / 3;
}

static inline size_t heap_keys_bytes(PyDictKeysObject *keys)
{
    return sizeof *keys + ((size_t)1 << keys->dk_log2_index_bytes) +
           heap_keys_usable(keys) * (keys->dk_kind == DICT_KEYS_GENERAL
                                         ? sizeof(PyDictKeyEntry)
                                         : sizeof(PyDictUnicodeEntry));
}

// The closure of a function, a tuple of cells.
static inline PyObject *heap_closure_of(PyObject *object)
{
    if (!PyFunction_Check(object))
        return NULL;
    PyObject *closure = ((PyFunctionObject *)object)->func_closure;
    return closure && PyTuple_CheckExact(closure) ? closure : NULL;
}

// What belongs to one object alone is a part of that in the snapshot, as its reader sees it: the
// dictionary of an instance, a class or a module, the closure of a function.
static inline bool heap_is_absorbed(PyObject *owner, PyObject *part)
{
    return part && Py_REFCNT(part) == 1 && (PyDict_CheckExact(part) || PyTuple_CheckExact(part)) &&
           heap_is_tracked(owner);
}

// ---- frames

static inline bool heap_frame_has_code(const frame_t *f)
{
    PyCodeObject *code = frame_code(f);
    return !frame_is_shim(f) && code && may_be_address(code) && Py_TYPE(code) == &PyCode_Type;
}

// How many of its local variables and values on its stack there are.
static inline int heap_frame_height(const frame_t *f, const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000
    Py_ssize_t height = f->stackpointer ? f->stackpointer - f->localsplus : -1;
#else
    Py_ssize_t height = f->stacktop;
#endif
    // While it is executed its stack is not written back.
    bool known = height >= 0 && height <= code->co_nlocalsplus + code->co_stacksize;
    return known ? (int)height : code->co_nlocalsplus;
}

// NULL if there is none, or something that is no object.
static inline PyObject *heap_frame_value(const frame_t *f, int index, bool *counted)
{
    *counted = true;
#if PY_VERSION_HEX >= 0x030E0000
    uintptr_t bits = f->localsplus[index].bits;
    if ((bits & 3) == 3) // a tagged integer
        return NULL;
    *counted = !(bits & 1);
#endif
    PyObject *value = frame_value(f, index);
    return (uintptr_t)value >= 4096 && may_be_address(value) ? value : NULL;
}

static inline bool heap_is_generator(PyObject *object)
{
    return PyGen_Check(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object);
}

static inline bool heap_has_frame(PyObject *object)
{
    return heap_is_generator(object) || PyFrame_Check(object);
}

// The frame inside of a generator, a coroutine or a frame object.
static inline const frame_t *heap_frame_in(PyObject *object)
{
    if (heap_is_generator(object)) {
        PyGenObject *generator = (PyGenObject *)object;
        return generator->gi_frame_state < FRAME_CLEARED ? (const frame_t *)&generator->gi_iframe
                                                         : NULL;
    }
    if (PyFrame_Check(object)) {
        const frame_t *f = ((PyFrameObject *)object)->f_frame;
        return f && f->owner == FRAME_OWNED_BY_FRAME_OBJECT ? f : NULL;
    }
    return NULL;
}

static inline PyObject *heap_interpreter_modules(PyInterpreterState *interpreter)
{
#if PY_VERSION_HEX >= 0x030C0000
    return interpreter->imports.modules;
#else
    return interpreter->modules;
#endif
}

#endif
