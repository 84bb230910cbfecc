#include "cpython/frames/c_callee.h"

#include "core/base/hot.h"
#include "core/session/name_records.h"
#include "cpython/frames/call_sites.h"
#include "cpython/frames/code_objects.h"

#include <string.h>

// What a name begins with when it is no type's method: the module.
static const char *module_name(PyObject *module, char *room, size_t size)
{
    if (!module || !PyUnicode_Check(module) || !PyUnicode_IS_COMPACT_ASCII(module))
        return NULL;
    size_t n = (size_t)PyUnicode_GET_LENGTH(module);
    if (n == 0 || n >= size)
        return NULL;
    memcpy(room, PyUnicode_1BYTE_DATA(module), n);
    room[n] = 0;
    return strcmp(room, "builtins") == 0 ? NULL : room;
}

// The type that defines a method, which may be a base of the object's own.
static const char *defining_type(PyTypeObject *type, const PyMethodDef *method)
{
    for (PyTypeObject *t = type; t; t = t->tp_base)
        for (PyMethodDef *m = t->tp_methods; m && m->ml_name; m++)
            if (m == method)
                return t->tp_name;
    return type->tp_name;
}

static uint64_t of_function(sonde_thread *thread, PyCFunctionObject *function)
{
    PyMethodDef *method = function->m_ml;
    uint64_t known = sonde_seen_find(sonde.seen, method);
    if (known) // what it is called need not be found out again
        return known;
    PyObject *self = function->m_self;
    char room[256];
    const char *owner = NULL;
    if (self && PyType_Check(self))
        owner = defining_type((PyTypeObject *)self, method);
    else if (self && !PyModule_Check(self))
        owner = defining_type(Py_TYPE(self), method);
    else
        owner = module_name(function->m_module, room, sizeof room);
    return sonde_describe_native(thread, method, owner, method->ml_name);
}

// A type or a callable object of a type that is written in C and lives as long as the process.
static bool lasts(const PyTypeObject *type)
{
#ifdef Py_TPFLAGS_IMMUTABLETYPE
    if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
        return true;
#endif
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

SONDE_HOT static uint64_t of_callable(sonde_thread *thread, PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyMethod_Type) {
        callable = PyMethod_GET_FUNCTION(callable);
        type = Py_TYPE(callable);
    }
    if (type == &PyFunction_Type)
        return 0;
    if (type == &PyCFunction_Type || type == &PyCMethod_Type)
        return of_function(thread, (PyCFunctionObject *)callable);
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
        PyMethodDescrObject *descr = (PyMethodDescrObject *)callable;
        return sonde_describe_native(thread, descr->d_method, descr->d_common.d_type->tp_name,
                                     descr->d_method->ml_name);
    }
    // Keys lie inside the type object, so that calling a type and calling its instances differ.
    if (type == &PyType_Type) {
        PyTypeObject *made = (PyTypeObject *)callable;
        return lasts(made) ? sonde_describe_native(thread, &made->tp_name, NULL, made->tp_name) : 0;
    }
    // A reader from another core may have found an object that is freed, and what was its type.
    if (Py_TYPE(type) != &PyType_Type)
        return 0;
    if (type->tp_call && lasts(type))
        return sonde_describe_native(thread, &type->tp_call, type->tp_name, "__call__");
    return 0;
}

bool sonde_is_native(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyMethod_Type)
        type = Py_TYPE(callable = PyMethod_GET_FUNCTION(callable));
    if (type == &PyFunction_Type)
        return false;
    if (type == &PyType_Type)
        return lasts((PyTypeObject *)callable);
    return type->tp_call && lasts(type);
}

uint64_t sonde_native_key(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    const void *key = NULL;
    if (type == &PyMethod_Type)
        type = Py_TYPE(callable = PyMethod_GET_FUNCTION(callable));
    if (type == &PyFunction_Type)
        return 0;
    if (type == &PyCFunction_Type || type == &PyCMethod_Type)
        key = ((PyCFunctionObject *)callable)->m_ml;
    else if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
        key = ((PyMethodDescrObject *)callable)->d_method;
    else if (type == &PyType_Type)
        key = lasts((PyTypeObject *)callable) ? &((PyTypeObject *)callable)->tp_name : NULL;
    else if (type->tp_call && lasts(type))
        key = &type->tp_call;
    return (uint64_t)(uintptr_t)key;
}

uint64_t sonde_native_word(sonde_thread *thread, PyObject *callable)
{
    return of_callable(thread, callable) << SONDE_INSTR_BITS;
}

SONDE_HOT uint64_t sonde_callee(sonde_thread *thread, const frame_t *f, const PyCodeObject *code,
                                uint64_t id, Py_ssize_t index)
{
    int site = sonde_call_site(thread, id, code, index);
    if (site == SITE_NONE)
        return 0;
#if PY_VERSION_HEX >= 0x030E0000
    // The stack pointer is kept before every call that may take long. What is above it is invalid:
    // an exception is on its way to its handler, and the callable may be freed. In its place may be
    // the number of the instruction that failed, which is tagged with both bits.
    if (&f->localsplus[site] >= f->stackpointer || (f->localsplus[site].bits & 3) == 3)
        return 0;
#endif
    PyObject *callable = frame_value(f, site);
#if PY_VERSION_HEX < 0x030D0000
    if (!callable) // no method and self, but NULL and a callable
        callable = frame_value(f, site + 1);
#endif
    // A slot of the call that is just being taken apart may hold a freed object: only what looks
    // like a callable of one of the known types is believed.
    if (!callable || !may_be_address(callable) || !Py_TYPE(callable) ||
        !may_be_address(Py_TYPE(callable)))
        return 0;
    uint64_t native = of_callable(thread, callable);
    return native << SONDE_INSTR_BITS;
}
