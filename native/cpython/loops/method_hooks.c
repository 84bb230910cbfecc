#define _GNU_SOURCE
#include "cpython/loops/method_hooks.h"

#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/loop_steps.h"

#include <Python.h>

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef PyObject *(*keyword_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

static PyCFunction real_append, real_popleft;
static keyword_call real_run;

static PyObject *on_append(PyObject *deque, PyObject *item)
{
    if (__builtin_expect(sonde_is_handle(item), 0))
        sonde_handle_ready(deque, item);
    return real_append(deque, item);
}

static PyObject *on_popleft(PyObject *deque, PyObject *unused)
{
    PyObject *item = real_popleft(deque, unused);
    if (item && __builtin_expect(sonde_is_handle(item), 0))
        sonde_handle_taken(deque, item);
    return item;
}

static PyObject *on_run(PyObject *context, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords)
{
    PyObject *callback = count > 0 ? args[0] : NULL;
    if (!callback || !sonde_step_begin(callback, count > 1 ? args[1] : NULL))
        return real_run(context, args, count, keywords);
    PyObject *result = real_run(context, args, count, keywords);
    sonde_step_end(callback);
    return result;
}

typedef struct {
    const char *name;
    int flags;
    PyCFunction hook;
    PyCFunction *real;
    PyMethodDef *definition; // NULL: not hooked
} hook_t;

#define ANY_FUNCTION(f) ((PyCFunction)(void (*)(void))(f))

static PyCFunction real_run_as_function;
static hook_t hooks[] = {
    {"append", METH_O, on_append, &real_append, NULL},
    {"popleft", METH_NOARGS, on_popleft, &real_popleft, NULL},
    {"run", METH_FASTCALL | METH_KEYWORDS, NULL, &real_run_as_function, NULL},
};
#define HOOKS (sizeof hooks / sizeof *hooks)

static PyMethodDef *definition_of(PyObject *type, const char *name)
{
    PyObject *method = type ? PyObject_GetAttrString(type, name) : NULL;
    if (!method) {
        PyErr_Clear();
        return NULL;
    }
    PyMethodDef *found =
        Py_TYPE(method) == &PyMethodDescr_Type ? ((PyMethodDescrObject *)method)->d_method : NULL;
    Py_DECREF(method); // its type keeps it
    return found;
}

static bool replace(PyMethodDef *definition, PyCFunction expected, PyCFunction value)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)&definition->ml_meth & ~(size - 1));
    // Where the definitions are constant data, their pages can be read only; elsewhere this changes
    // nothing.
    if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
        return false;
    return __atomic_compare_exchange_n(&definition->ml_meth, &expected, value, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool sonde_methods_hook(void)
{
    PyObject *collections = PyImport_ImportModule("_collections");
    PyObject *deque = collections ? PyObject_GetAttrString(collections, "deque") : NULL;
    PyErr_Clear();
    PyObject *types[HOOKS] = {deque, deque, (PyObject *)&PyContext_Type};
    hooks[2].hook = ANY_FUNCTION(on_run);
    PyMethodDef *found[HOOKS] = {0};
    bool known = true;
    for (size_t i = 0; i < HOOKS; i++) {
        found[i] = definition_of(types[i], hooks[i].name);
        known = known && found[i] && found[i]->ml_flags == hooks[i].flags;
    }
    Py_XDECREF(deque);
    Py_XDECREF(collections);
    for (size_t i = 0; known && i < HOOKS; i++) {
        *hooks[i].real = found[i]->ml_meth;
        hooks[i].definition = found[i];
    }
    real_run = (keyword_call)(void (*)(void))real_run_as_function;
    for (size_t i = 0; known && i < HOOKS; i++)
        if (!replace(found[i], *hooks[i].real, hooks[i].hook)) {
            sonde_methods_unhook();
            return false;
        }
    return known;
}

void sonde_methods_unhook(void)
{
    for (size_t i = 0; i < HOOKS; i++) {
        if (hooks[i].definition)
            replace(hooks[i].definition, hooks[i].hook, *hooks[i].real);
        hooks[i].definition = NULL;
    }
}
