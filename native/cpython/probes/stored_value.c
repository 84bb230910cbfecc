#include "cpython/probes/stored_value.h"

#include "core/session/probe_area.h"
#include "cpython/heap/layouts.h"

#include <string.h>

// What is looked for in a dictionary that has other keys than strings is compared with each of
// them, for as long as that takes no time that anybody notices.
#define MAX_SEARCHED 1024

static sonde_stored found(PyObject *value) { return (sonde_stored){Py_NewRef(value), 0}; }

static sonde_stored failed(int failure) { return (sonde_stored){NULL, failure}; }

static bool is_integer(PyObject *object, Py_ssize_t number)
{
    if (!PyLong_CheckExact(object))
        return false;
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow && value == number;
}

// A borrowed reference. Strings as keys are compared as such only if all keys are strings:
// otherwise one with the same hash is asked whether it is equal.
static PyObject *in_dict(PyObject *dict, Py_ssize_t index, PyObject *key, int *failure)
{
    *failure = SONDE_PROBE_NO_ITEM;
    if (((PyDictObject *)dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL) {
        PyObject *value = key ? PyDict_GetItemWithError(dict, key) : NULL;
        if (!value)
            PyErr_Clear();
        return value;
    }
    if (PyDict_GET_SIZE(dict) > MAX_SEARCHED) {
        *failure = SONDE_PROBE_TOO_LARGE;
        return NULL;
    }
    Py_ssize_t at = 0;
    PyObject *one, *value;
    while (PyDict_Next(dict, &at, &one, &value)) {
        if (key ? PyUnicode_CheckExact(one) && PyUnicode_Compare(one, key) == 0
                : is_integer(one, index))
            return value;
    }
    return NULL;
}

// ---- variables

int sonde_stored_local(const PyCodeObject *code, PyObject *name)
{
    PyObject *names = code->co_localsplusnames;
    for (int i = 0; names && i < code->co_nlocalsplus && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
            return i;
    return -1;
}

static sonde_stored in_cell(PyObject *value)
{
    if (!value || !PyCell_Check(value))
        return value ? found(value) : failed(SONDE_PROBE_UNBOUND);
    value = PyCell_GET(value);
    return value ? found(value) : failed(SONDE_PROBE_UNBOUND);
}

static bool is_in_cell(const PyCodeObject *code, int local)
{
    PyObject *kinds = code->co_localspluskinds;
    if (!kinds || !PyBytes_CheckExact(kinds) || local >= PyBytes_GET_SIZE(kinds))
        return false;
    return PyBytes_AS_STRING(kinds)[local] & (CO_FAST_CELL | CO_FAST_FREE);
}

static sonde_stored in_names(PyObject *names, PyObject *name)
{
    int failure;
    PyObject *value = names && PyDict_CheckExact(names) ? in_dict(names, 0, name, &failure) : NULL;
    return value ? found(value) : failed(SONDE_PROBE_UNBOUND);
}

sonde_stored sonde_stored_variable(const frame_t *frame, const PyCodeObject *code, int local,
                                   PyObject *name)
{
    if (local >= 0) {
        PyObject *value = frame_value(frame, local);
        if (value && !may_be_address(value))
            return failed(SONDE_PROBE_UNBOUND);
        if (is_in_cell(code, local))
            return in_cell(value);
        return value ? found(value) : failed(SONDE_PROBE_UNBOUND);
    }
    if (!(code->co_flags & CO_OPTIMIZED)) { // the code of a class or module
        sonde_stored value = in_names(frame->f_locals, name);
        if (value.value)
            return value;
    }
    return in_names(frame->f_globals, name);
}

// ---- attributes

static sonde_stored in_slot(PyObject *object, const PyMemberDescrObject *member)
{
    const PyMemberDef *slot = member->d_member;
    if (!PyObject_TypeCheck(object, member->d_common.d_type))
        return failed(SONDE_PROBE_NO_ATTRIBUTE);
    if (slot->type != HEAP_MEMBER_OBJECT && slot->type != HEAP_MEMBER_OBJECT_EX) // a number of C
        return failed(SONDE_PROBE_GETTER);
    PyObject *value;
    memcpy(&value, (const char *)object + slot->offset, sizeof value);
    return value ? found(value) : failed(SONDE_PROBE_NO_ATTRIBUTE);
}

static PyObject *in_values(const heap_attributes *attributes, PyObject *name)
{
    const PyDictKeysObject *keys = attributes->keys;
    if (!keys || keys->dk_kind == DICT_KEYS_GENERAL)
        return NULL;
    const PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES((PyDictKeysObject *)keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (entries[i].me_key == name)
            return attributes->values->values[i];
    return NULL;
}

// What lies in the object itself. `object` is neither a type nor a module.
static PyObject *in_instance(PyObject *object, PyObject *name)
{
    heap_attributes attributes = heap_attributes_of(object);
    if (attributes.values)
        return in_values(&attributes, name);
    int failure;
    if (attributes.dict && PyDict_CheckExact(attributes.dict))
        return in_dict(attributes.dict, 0, name, &failure);
    return NULL;
}

sonde_stored sonde_stored_attribute(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyModule_CheckExact(object)) {
        sonde_stored value = in_names(PyModule_GetDict(object), name);
        return value.value ? value : failed(SONDE_PROBE_NO_ATTRIBUTE);
    }
    bool is_type = PyType_Check(object);
    PyObject *of_type = _PyType_Lookup(is_type ? (PyTypeObject *)object : type, name); // borrowed
    if (of_type && Py_TYPE(of_type) == &PyMemberDescr_Type && !is_type)
        return in_slot(object, (PyMemberDescrObject *)of_type);
    // With a setter it comes before what the object itself has.
    if (of_type && !is_type && Py_TYPE(of_type)->tp_descr_get && Py_TYPE(of_type)->tp_descr_set)
        return failed(SONDE_PROBE_GETTER);
    PyObject *value = is_type ? NULL : in_instance(object, name);
    if (value)
        return found(value);
    if (of_type && Py_TYPE(of_type)->tp_descr_get)
        return failed(SONDE_PROBE_GETTER);
    return of_type ? found(of_type) : failed(SONDE_PROBE_NO_ATTRIBUTE);
}

// ---- items

sonde_stored sonde_stored_item(PyObject *object, Py_ssize_t index, PyObject *key)
{
    if (PyDict_CheckExact(object)) {
        int failure;
        PyObject *value = in_dict(object, index, key, &failure);
        return value ? found(value) : failed(failure);
    }
    if (key || !(PyList_CheckExact(object) || PyTuple_CheckExact(object)))
        return failed(SONDE_PROBE_NO_CONTAINER);
    Py_ssize_t size = Py_SIZE(object);
    Py_ssize_t place = index < 0 ? index + size : index;
    if (place < 0 || place >= size)
        return failed(SONDE_PROBE_NO_ITEM);
    return found(PyList_CheckExact(object) ? PyList_GET_ITEM(object, place)
                                           : PyTuple_GET_ITEM(object, place));
}

Py_ssize_t sonde_stored_length(PyObject *object)
{
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyBytes_CheckExact(object) ||
        PyByteArray_CheckExact(object))
        return Py_SIZE(object);
    if (PyDict_CheckExact(object))
        return PyDict_GET_SIZE(object);
    if (PyAnySet_CheckExact(object))
        return PySet_GET_SIZE(object);
    if (PyUnicode_CheckExact(object))
        return PyUnicode_GET_LENGTH(object);
    return -1;
}
