#define _GNU_SOURCE
#include "cpython/session/python_api.h"

#include "core/hooks/spans.h"
#include "core/protocol/join_session.h"
#include "core/session/span_records.h"
#include "cpython/flow/flow.h"
#include "cpython/frames/frames.h"
#include "cpython/probes/step_trace.h"
#include "cpython/session/agent.h"
#include "cpython/session/c_spans.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

// Libraries that enter spans for the function that calls them: an ExitStack in functions that are
// over at once, and OpenTelemetry, whose spans a plugin of ours mirrors.
static bool is_helper(const frame_t *f)
{
    static const char end[] = "/contextlib.py", part[] = "/opentelemetry/";
    PyObject *file = frame_code(f)->co_filename;
    if (!file || !PyUnicode_Check(file) || !PyUnicode_IS_COMPACT_ASCII(file))
        return false;
    const char *text = (const char *)PyUnicode_1BYTE_DATA(file);
    size_t length = (size_t)PyUnicode_GET_LENGTH(file), tail = sizeof end - 1;
    return (length >= tail && memcmp(text + length - tail, end, tail) == 0) ||
           memmem(text, length, part, sizeof part - 1);
}

// The function of the program that enters or leaves a span: the caller of the method that calls us.
static frame_t *who(void)
{
    frame_t *f = sonde_cpython_top(PyThreadState_Get());
    while (f && frame_is_shim(f))
        f = f->previous;
    if (f)
        f = sonde_cpython_caller(f);
    while (f && is_helper(f))
        f = sonde_cpython_caller(f);
    return f;
}

// ---- records

static bool write_note(sonde_thread *thread, uint8_t type, uint32_t id, uint32_t parent,
                       const char *text, size_t length)
{
    sonde_rec_note note = {
        .span = id, .parent = parent, .interpreter = (uint32_t)PyThreadState_Get()->interp->id};
    return sonde_write_note(thread, type, &note, text, length);
}

// A program that runs without us must not fail with us, whatever it calls its spans.
static const char *text_of(PyObject *given, PyObject **text, size_t *length)
{
    Py_ssize_t n = 0;
    *text = PyObject_Str(given);
    const char *bytes = *text ? PyUnicode_AsUTF8AndSize(*text, &n) : NULL;
    if (!bytes) {
        PyErr_Clear();
        *length = 1;
        return "?";
    }
    *length = n < SONDE_MAX_NOTE ? (size_t)n : SONDE_MAX_NOTE;
    return bytes;
}

// ---- what Python calls

// `within`: the span that it is a part of, 0 for the one around the caller.
static PyObject *begin_within(PyObject *name, uint32_t within)
{
    PyObject *text;
    size_t length;
    uint32_t id = 0;
    const char *bytes = text_of(name, &text, &length);
    frame_t *f = who();
    sonde_thread *thread = f ? sonde_enter() : NULL;
    if (thread) {
        uint32_t number = sonde_span_number(),
                 parent = within ? within : sonde_cpython_span_around(f);
        if (!sonde_note_has_room(thread) || !sonde_span_open(f, frame_code(f), number))
            atomic_fetch_add(&sonde.header->notes_lost, 1);
        else if (write_note(thread, SONDE_NOTE_BEGIN, number, parent, bytes, length))
            id = number;
        else
            sonde_span_close(f, number);
        sonde_leave(thread);
    }
    if (id)
        sonde_flow_span_begins(id, bytes, length);
    if (id)
        sonde_steps_span_begins(bytes, length, id);
    Py_XDECREF(text);
    return PyLong_FromUnsignedLong(id);
}

static PyObject *begin(PyObject *module, PyObject *name)
{
    (void)module;
    return begin_within(name, 0);
}

static bool is_number(PyObject *given, uint32_t *number)
{
    unsigned long id = PyLong_AsUnsignedLong(given);
    *number = (uint32_t)id;
    return !PyErr_Occurred();
}

static bool has_arguments(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given != wanted)
        PyErr_Format(PyExc_TypeError, "%zd arguments instead of %zd", given, wanted);
    return given == wanted;
}

static PyObject *begin_part(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    uint32_t within;
    if (!has_arguments(count, 2) || !is_number(args[1], &within))
        return NULL;
    return begin_within(args[0], within);
}

static PyObject *attribute(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    uint32_t id;
    if (!has_arguments(count, 2) || !is_number(args[0], &id))
        return NULL;
    PyObject *text;
    size_t length;
    const char *bytes = text_of(args[1], &text, &length);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        if (sonde_note_has_room(thread))
            write_note(thread, SONDE_NOTE_ATTRIBUTE, id, 0, bytes, length);
        else
            atomic_fetch_add(&sonde.header->notes_lost, 1);
        sonde_leave(thread);
    }
    Py_XDECREF(text);
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *module, PyObject *number)
{
    (void)module;
    unsigned long id = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred())
        return NULL;
    sonde_steps_span_ends((uint32_t)id);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        uint32_t closed = sonde_span_close(who(), (uint32_t)id);
        if (closed)
            write_note(thread, SONDE_NOTE_END, closed, 0, "", 0);
        sonde_leave(thread);
        sonde_flow_span_ends(closed);
    }
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *given)
{
    (void)module;
    PyObject *text;
    size_t length;
    const char *bytes = text_of(given, &text, &length);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        write_note(thread, SONDE_NOTE_MARK, 0, 0, bytes, length);
        sonde_leave(thread);
    }
    Py_XDECREF(text);
    Py_RETURN_NONE;
}

static PyObject *notify(uint32_t reason)
{
    if (sonde_agent_active()) {
        PyThreadState *meanwhile = PyEval_SaveThread();
        int saved = errno;
        sonde_agent_notify(reason);
        errno = saved;
        PyEval_RestoreThread(meanwhile);
    }
    Py_RETURN_NONE;
}

static PyObject *pause_(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return notify(SONDE_PAUSE);
}

static PyObject *resume(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return notify(SONDE_RESUME);
}

static PyMethodDef functions[] = {
    {"begin", begin, METH_O, NULL},
    {"end", end, METH_O, NULL},
    {"mark", mark, METH_O, NULL},
    {"pause", pause_, METH_NOARGS, NULL},
    {"resume", resume, METH_NOARGS, NULL},
    {"begin_part", (PyCFunction)(void (*)(void))begin_part, METH_FASTCALL, NULL},
    {"attribute", (PyCFunction)(void (*)(void))attribute, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "sonde_inside",
                                 .m_methods = functions};

// For sonde's own Python code, which finds the library among what is mapped.
EXPORT PyObject *PyInit_sonde_inside(void) { return PyModuleDef_Init(&definition); }

void sonde_python_api_offer(void)
{
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    PyObject *there = modules ? PyDict_GetItemString(modules, "sonde._inside") : NULL;
    if (!there || !PyModule_Check(there))
        return;
    PyObject *dict = PyModule_GetDict(there), *ours = PyModule_Create(&definition);
    if (ours)
        PyDict_SetItemString(dict, "_agent", ours);
    Py_XDECREF(ours);
    PyErr_Clear();
}
