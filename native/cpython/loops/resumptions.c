#include "cpython/loops/resumptions.h"

#include "cpython/frames/frames.h"
#include "cpython/loops/asyncio_types.h"
#include "cpython/walk/walk.h"

#include <string.h>

// Objects looked at for one answer, and how many of them are looked into.
#define MAX_SEEN 64
#define MAX_OPENED 24
// Of a larger one the names are those of a module.
#define MAX_NAMES 24
// Frames between a worker's loop and where it hands over a result.
#define MAX_FRAMES 32

enum { FUTURE_LOOP = 2, FUTURE_CALLBACK = 3, FUTURE_CALLBACKS = 5 }; // words, 3.11 to 3.15

typedef struct {
    PyObject *seen[MAX_SEEN];
    int count;
    PyObject *future, *loop;
} search_t;

static PyObject *word(PyObject *future, int index) { return ((PyObject **)future)[index]; }

static void add(search_t *search, PyObject *object)
{
    for (int i = 0; i < search->count; i++)
        if (search->seen[i] == object)
            return;
    if (search->count < MAX_SEEN)
        search->seen[search->count++] = object;
}

static bool leads_elsewhere(PyObject *object)
{
    return PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object) ||
           PyFrame_Check(object) || PyGen_Check(object) || PyCoro_CheckExact(object) ||
           PyAsyncGen_CheckExact(object) || PyContext_CheckExact(object) ||
           PyExceptionInstance_Check(object) || PyTraceBack_Check(object) ||
           (PyDict_Check(object) && PyDict_Size(object) > MAX_NAMES);
}

static int reached(PyObject *object, void *arg)
{
    search_t *search = arg;
    if (object == search->future || object == search->loop || !Py_TYPE(object)->tp_traverse ||
        sonde_is_task(object) || leads_elsewhere(object)) // other tasks are siblings
        return 0;
    add(search, object);
    return 0;
}

static PyObject *task_of_callbacks(PyObject *future)
{
    PyObject *first = word(future, FUTURE_CALLBACK), *others = word(future, FUTURE_CALLBACKS);
    PyObject *task = first ? sonde_task_of(first) : NULL;
    if (task || !others || !PyList_CheckExact(others))
        return task;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(others) && !task; i++) {
        PyObject *pair = PyList_GET_ITEM(others, i);
        if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) > 0)
            task = sonde_task_of(PyTuple_GET_ITEM(pair, 0));
    }
    return task;
}

static void open_object(search_t *search, PyObject *object)
{
    if (PyFunction_Check(object)) { // what it was made with, not its globals
        PyObject *closure = PyFunction_GET_CLOSURE(object);
        if (closure)
            add(search, closure);
        return;
    }
    Py_TYPE(object)->tp_traverse(object, reached, search);
}

PyObject *sonde_awaiter_behind(PyObject *callback, PyObject *future)
{
    search_t search = {{callback}, 1, future, word(future, FUTURE_LOOP)};
    for (int i = 0; i < search.count && i < MAX_OPENED; i++) {
        PyObject *object = search.seen[i];
        if (!sonde_is_future(object)) {
            open_object(&search, object);
            continue;
        }
        PyObject *task = task_of_callbacks(object);
        if (task)
            return task;
        if (word(object, FUTURE_CALLBACK))
            add(&search, word(object, FUTURE_CALLBACK));
    }
    return NULL;
}

PyObject *sonde_awaiter_of(PyObject *future)
{
    if (!sonde_is_future(future))
        return NULL;
    PyObject *callback = word(future, FUTURE_CALLBACK), *task = task_of_callbacks(future);
    if (task || !callback)
        return task;
    return sonde_awaiter_behind(callback, future);
}

PyObject *sonde_resumed_by(PyObject *callback, PyObject *argument)
{
    if (PyCFunction_CheckExact(callback)) {
        PyObject *self = PyCFunction_GET_SELF(callback);
        if (self && sonde_is_future(self))
            return sonde_awaiter_of(self);
    }
    return argument && sonde_is_future(argument) ? sonde_awaiter_of(argument) : NULL;
}

// ---- executors

static bool ends_with(PyObject *text, const char *end)
{
    const char *whole = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    if (!whole) {
        PyErr_Clear();
        return false;
    }
    size_t length = strlen(whole), wanted = strlen(end);
    return length >= wanted && strcmp(whole + length - wanted, end) == 0;
}

// The first local variable of the function that runs an executor's work.
static PyObject *work_item(void)
{
    frame_t *frame = sonde_cpython_top(PyThreadState_Get());
    for (int i = 0; frame && i < MAX_FRAMES; i++, frame = frame->previous) {
        if (frame_is_shim(frame))
            continue;
        PyCodeObject *code = frame_code(frame);
        if (code && code->co_nlocalsplus && ends_with(code->co_qualname, "_WorkItem.run") &&
            ends_with(code->co_filename, "concurrent/futures/thread.py"))
            return frame_value(frame, 0);
    }
    return NULL;
}

PyObject *sonde_executed_function(void)
{
    PyObject *item = work_item();
    if (!item || item == Py_None)
        return NULL;
    PyObject *function = sonde_plain_attribute(item, "fn");
    if (!function) { // from 3.14 a tuple with the arguments
        PyObject *work = sonde_plain_attribute(item, "task");
        if (work && PyTuple_CheckExact(work) && PyTuple_GET_SIZE(work) > 0)
            function = Py_NewRef(PyTuple_GET_ITEM(work, 0));
        Py_XDECREF(work);
    }
    // asyncio.to_thread has it run in a context.
    PyObject *arguments = NULL;
    PyObject *called = function ? sonde_partial_function(function, &arguments) : NULL;
    if (called && PyCFunction_CheckExact(called) && PyCFunction_GET_SELF(called) &&
        PyContext_CheckExact(PyCFunction_GET_SELF(called)) && arguments &&
        PyTuple_GET_SIZE(arguments) > 0) {
        PyObject *inner = Py_NewRef(PyTuple_GET_ITEM(arguments, 0));
        Py_DECREF(function);
        function = inner;
    }
    return function;
}
