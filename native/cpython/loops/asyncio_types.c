#include "cpython/loops/asyncio_types.h"

#include <structmember.h>

#include <string.h>

PyTypeObject *sonde_handle_types[4];

static PyTypeObject *task_type, *future_type, *python_task_type, *step_type, *partial_type;
static PyMethodDef *wakeup;
static PyObject *name_getter, *coroutine_getter; // of the C task; its type keeps them
static PyObject *python_steps[4];
static Py_ssize_t when_at, callback_at, arguments_at, coroutine_at;
static Py_ssize_t partial_at, partial_arguments_at;
static int uvloop_at; // which word of uvloop's handle is its callback; 0: not known yet
static bool uvloop_is_unknown;
static Py_ssize_t modules_seen;

static PyObject *module_attribute(PyObject *modules, const char *module, const char *name)
{
    PyObject *found = PyDict_GetItemString(modules, module);
    PyObject *dict = found && PyModule_Check(found) ? PyModule_GetDict(found) : NULL;
    return dict ? PyDict_GetItemString(dict, name) : NULL; // borrowed, and no code runs
}

static PyTypeObject *module_type(PyObject *modules, const char *module, const char *name)
{
    PyObject *found = module_attribute(modules, module, name);
    return found && PyType_Check(found) ? (PyTypeObject *)found : NULL;
}

static PyObject *own_attribute(PyTypeObject *type, const char *name)
{
    PyObject *text = PyUnicode_FromString(name);
    PyObject *found = text ? _PyType_Lookup(type, text) : NULL; // borrowed
    Py_XDECREF(text);
    return found;
}

// The offset of an attribute that is a field of the object; 0: it is none.
static Py_ssize_t field_of(PyTypeObject *type, const char *name)
{
    PyObject *member = type ? own_attribute(type, name) : NULL;
    if (!member || Py_TYPE(member) != &PyMemberDescr_Type)
        return 0;
    return ((PyMemberDescrObject *)member)->d_member->offset;
}

static bool is_task_type(PyTypeObject *type)
{
    return task_type && (type == task_type || PyType_IsSubtype(type, task_type));
}

static void find_python_steps(void)
{
    static const char *const names[] = {"_Task__step", "_Task__wakeup",
                                        "_Task__step_run_and_handle_result", "_Task__eager_start"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        python_steps[i] = python_task_type ? own_attribute(python_task_type, names[i]) : NULL;
}

void sonde_asyncio_find(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return;
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    if (!modules || !PyDict_CheckExact(modules) || PyDict_Size(modules) == modules_seen)
        return;
    PyObject *raised = PyErr_Occurred();
    if (raised)
        return;
    modules_seen = PyDict_Size(modules);
    PyTypeObject *handle = module_type(modules, "asyncio.events", "Handle");
    PyTypeObject *timer = module_type(modules, "asyncio.events", "TimerHandle");
    task_type = module_type(modules, "_asyncio", "Task");
    future_type = module_type(modules, "_asyncio", "Future");
    python_task_type = module_type(modules, "asyncio.tasks", "_PyTask");
    partial_type = module_type(modules, "functools", "partial");
    if (handle && timer && (task_type || python_task_type)) {
        sonde_handle_types[0] = handle;
        sonde_handle_types[1] = timer;
        sonde_handle_types[2] = module_type(modules, "asyncio.events", "_ThreadSafeHandle");
        when_at = field_of(timer, "_when");
        callback_at = field_of(handle, "_callback");
        arguments_at = field_of(handle, "_args");
    }
    sonde_handle_types[3] = module_type(modules, "uvloop.loop", "Handle");
    uvloop_is_unknown = !sonde_handle_types[3] && PyDict_GetItemString(modules, "uvloop.loop");
    partial_at = field_of(partial_type, "func");
    partial_arguments_at = field_of(partial_type, "args");
    name_getter = task_type ? own_attribute(task_type, "get_name") : NULL;
    coroutine_getter = task_type ? own_attribute(task_type, "_coro") : NULL;
    find_python_steps();
    PyErr_Clear();
}

void sonde_asyncio_forget(void)
{
    memset(sonde_handle_types, 0, sizeof sonde_handle_types);
    task_type = future_type = python_task_type = step_type = partial_type = NULL;
    wakeup = NULL;
    name_getter = coroutine_getter = NULL;
    memset(python_steps, 0, sizeof python_steps);
    when_at = callback_at = arguments_at = coroutine_at = 0;
    partial_at = partial_arguments_at = 0;
    uvloop_at = 0;
    uvloop_is_unknown = false;
    modules_seen = 0;
}

bool sonde_uvloop_is_unknown(void) { return uvloop_is_unknown; }

bool sonde_asyncio_found(void) { return sonde_handle_types[0] != NULL; }

uint64_t sonde_timer_due(PyObject *timer)
{
    PyObject *when = when_at ? *(PyObject **)((char *)timer + when_at) : NULL;
    if (!when || !PyFloat_CheckExact(when))
        return 0;
    double ns = PyFloat_AS_DOUBLE(when) * 1e9;
    return ns > 0 && ns < 1e18 ? (uint64_t)ns : 0;
}

// asyncio's C code makes them of a type that no module has.
static bool is_step(PyObject *callback)
{
    PyTypeObject *type = Py_TYPE(callback);
    if (type == step_type)
        return true;
    if (step_type || !strstr(type->tp_name, "TaskStepMethWrapper") ||
        type->tp_basicsize < (Py_ssize_t)(3 * sizeof(PyObject *)))
        return false;
    step_type = type;
    return true;
}

static bool is_wakeup(PyMethodDef *method)
{
    if (method == wakeup)
        return true;
    if (wakeup || !strstr(method->ml_name, "akeup"))
        return false;
    wakeup = method;
    return true;
}

PyObject *sonde_task_of(PyObject *callback)
{
    if (PyCFunction_CheckExact(callback)) {
        PyObject *self = PyCFunction_GET_SELF(callback);
        bool wakes =
            self && is_task_type(Py_TYPE(self)) && is_wakeup(((PyCFunctionObject *)callback)->m_ml);
        return wakes ? self : NULL;
    }
    if (PyMethod_Check(callback)) {
        PyObject *function = PyMethod_GET_FUNCTION(callback);
        for (size_t i = 0; i < sizeof python_steps / sizeof *python_steps; i++)
            if (function == python_steps[i])
                return PyMethod_GET_SELF(callback);
        return NULL;
    }
    if (!is_step(callback))
        return NULL;
    PyObject *task = ((PyObject **)callback)[2]; // sw_task
    return task && is_task_type(Py_TYPE(task)) ? task : NULL;
}

PyObject *sonde_plain_attribute(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_getattro != PyObject_GenericGetAttr || own_attribute(type, name))
        return NULL;
    PyObject *found = PyObject_GetAttrString(object, name);
    if (!found)
        PyErr_Clear();
    return found;
}

// The C task's getter says where the field is.
static void find_coroutine(PyObject *task)
{
    descrgetfunc get = coroutine_getter ? Py_TYPE(coroutine_getter)->tp_descr_get : NULL;
    PyObject *found = get ? get(coroutine_getter, task, (PyObject *)Py_TYPE(task)) : NULL;
    if (!found) {
        PyErr_Clear();
        return;
    }
    Py_ssize_t words = task_type->tp_basicsize / (Py_ssize_t)sizeof(PyObject *);
    for (Py_ssize_t i = 2; i < words && found != Py_None && !coroutine_at; i++)
        if (((PyObject **)task)[i] == found)
            coroutine_at = i * (Py_ssize_t)sizeof(PyObject *);
    Py_DECREF(found);
}

PyObject *sonde_task_coroutine(PyObject *task)
{
    if (is_task_type(Py_TYPE(task))) {
        if (!coroutine_at)
            find_coroutine(task);
        return coroutine_at ? *(PyObject **)((char *)task + coroutine_at) : NULL;
    }
    PyObject *found = sonde_plain_attribute(task, "_coro");
    Py_XDECREF(found);
    return found;
}

PyObject *sonde_task_name(PyObject *task)
{
    PyObject *name;
    if (is_task_type(Py_TYPE(task)))
        name = name_getter ? PyObject_CallOneArg(name_getter, task) : NULL;
    else
        name = sonde_plain_attribute(task, "_name");
    if (!name)
        PyErr_Clear();
    return name;
}

bool sonde_is_task(PyObject *object) { return is_task_type(Py_TYPE(object)); }

bool sonde_is_future(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return is_task_type(type) ||
           (future_type && (type == future_type || PyType_IsSubtype(type, future_type)));
}

PyObject *sonde_future_awaiter(PyObject *future)
{
    if (!sonde_is_future(future))
        return NULL;
    PyObject *callback = ((PyObject **)future)[3]; // fut_callback0, 3.11 to 3.15
    return callback ? sonde_task_of(callback) : NULL;
}

static PyObject *field(PyObject *object, Py_ssize_t at)
{
    return at ? *(PyObject **)((char *)object + at) : NULL;
}

PyObject *sonde_partial_function(PyObject *object, PyObject **arguments)
{
    if (Py_TYPE(object) != partial_type)
        return NULL;
    PyObject *found = field(object, partial_arguments_at);
    *arguments = found && PyTuple_CheckExact(found) ? found : NULL;
    return field(object, partial_at);
}

PyObject *sonde_callback_function(PyObject *callback)
{
    PyObject *arguments, *function;
    for (int i = 0; i < 4 && (function = sonde_partial_function(callback, &arguments)); i++)
        callback = function;
    return callback;
}

// ---- uvloop

static bool may_be_callback(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyCFunction_Type || type == &PyMethod_Type || type == &PyFunction_Type ||
           (partial_type && type == partial_type) || is_step(object);
}

static int visit(PyObject *object, void *found)
{
    if (!may_be_callback(object))
        return 0;
    *(PyObject **)found = object;
    return 1;
}

PyObject *sonde_uvloop_callback(PyObject *handle)
{
    PyObject **words = (PyObject **)handle;
    Py_ssize_t count = Py_TYPE(handle)->tp_basicsize / (Py_ssize_t)sizeof *words;
    if (uvloop_at)
        return words[uvloop_at] && may_be_callback(words[uvloop_at]) ? words[uvloop_at] : NULL;
    PyObject *callback = NULL;
    if (!Py_TYPE(handle)->tp_traverse)
        return NULL;
    Py_TYPE(handle)->tp_traverse(handle, visit, &callback);
    for (int i = 2; callback && i < count && !uvloop_at; i++)
        if (words[i] == callback)
            uvloop_at = i;
    return callback;
}

PyObject *sonde_handle_callback(PyObject *handle, PyObject **arguments)
{
    PyObject *callback, *found;
    if (sonde_is_uvloop_handle(handle)) {
        callback = sonde_uvloop_callback(handle);
        Py_ssize_t words = Py_TYPE(handle)->tp_basicsize / (Py_ssize_t)sizeof(PyObject *);
        // Its arguments follow.
        found = uvloop_at && uvloop_at + 1 < words ? ((PyObject **)handle)[uvloop_at + 1] : NULL;
    } else {
        callback = field(handle, callback_at);
        found = field(handle, arguments_at);
    }
    *arguments = found && PyTuple_CheckExact(found) ? found : NULL;
    return callback;
}
