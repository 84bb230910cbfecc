#include "cpython/frames/thread_name.h"

#include "cpython/frames/code_objects.h"

#include <string.h>

static bool is_ascii(PyObject *text, const char *expected, size_t n)
{
    return PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text) &&
           (size_t)PyUnicode_GET_LENGTH(text) == n &&
           memcmp(PyUnicode_1BYTE_DATA(text), expected, n) == 0;
}

#if PY_VERSION_HEX < 0x030C0000
#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"

// The attribute _name without running any code. The owner may change its attributes meanwhile, on
// another thread: we run under the guard, and what is not a str is no name.
static PyObject *name_attribute(PyObject *self)
{
    if (!(Py_TYPE(self)->tp_flags & Py_TPFLAGS_MANAGED_DICT))
        return NULL;
    PyDictValues *values = *_PyObject_ValuesPointer(self);
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(self))->ht_cached_keys;
    if (!values) { // the program asked for __dict__
        PyDictObject *dict = (PyDictObject *)*_PyObject_ManagedDictPointer(self);
        if (!dict || !PyDict_CheckExact(dict))
            return NULL;
        keys = dict->ma_keys;
        values = dict->ma_values;
    }
    if (!keys || keys->dk_kind == DICT_KEYS_GENERAL)
        return NULL;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries && i < 256; i++) {
        PyObject *key = entries[i].me_key;
        if (key && is_ascii(key, "_name", 5)) {
            PyObject *value = values ? values->values[i] : entries[i].me_value;
            return value && PyUnicode_Check(value) ? value : NULL;
        }
    }
    return NULL;
}

static void report_name(sonde_thread *thread, PyObject *self)
{
    PyObject *name = name_attribute(self);
    if (name)
        sonde_write_thread_name(thread, self, name);
}
#else
static void report_name(sonde_thread *thread, PyObject *self)
{
    (void)thread;
    (void)self;
}
#endif

static uint64_t bootstraps(sonde_thread *thread, const frame_t *frame, const PyCodeObject *code)
{
    static const char name[] = "_bootstrap";
    if (code->co_argcount != 1 || !is_ascii(code->co_name, name, sizeof name - 1))
        return 1;
    PyObject *self = frame_value(frame, 0);
    if (!self || ((uintptr_t)self & 7))
        return 1;
    report_name(thread, self);
    return (uint64_t)(uintptr_t)self;
}

uint64_t sonde_thread_object(sonde_thread *thread, const sonde_outer *outer)
{
    uint64_t object = bootstraps(thread, outer->root, outer->root_code);
    if (object == 1 && outer->called)
        object = bootstraps(thread, outer->called, outer->called_code);
    return object;
}
