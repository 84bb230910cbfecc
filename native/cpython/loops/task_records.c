#define _GNU_SOURCE
#include "cpython/loops/task_records.h"

#include "core/session/name_records.h"
#include "core/session/stack_delta.h"
#include "cpython/frames/code_objects.h"
#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/coroutine.h"
#include "cpython/loops/resumptions.h"
#include "cpython/walk/walk.h"

#include <string.h>

#define MAX_CHAIN 128u

static void *reserve(sonde_thread *thread, size_t size)
{
    void *out = sonde_ring_reserve(&thread->ring, size);
    if (!out)
        thread->slot->events_lost++;
    return out;
}

static bool write_info(sonde_thread *thread, sonde_task_entry *entry, uint64_t code,
                       const char *name)
{
    size_t length = strnlen(name, SONDE_NAME_MAX);
    size_t size = sonde_round8(sizeof(sonde_rec_task_info) + length);
    sonde_rec_task_info *out = reserve(thread, size);
    if (!out)
        return false;
    *out = (sonde_rec_task_info){
        .rec = {(uint32_t)size, SONDE_REC_TASK_INFO, entry->kind, 0},
        .id = entry->id,
        .parent = entry->parent,
        .created = entry->created,
        .code = code,
        .name_len = (uint32_t)length,
    };
    memcpy(out + 1, name, length);
    sonde_ring_commit(&thread->ring, size);
    entry->described = true;
    return true;
}

static uint64_t word_of(sonde_thread *thread, PyCodeObject *code)
{
    uint64_t id = code ? sonde_cpython_id(thread, code) : 0;
    return id << SONDE_INSTR_BITS;
}

// An exception that the program raised is put aside while its objects are asked.
#if PY_VERSION_HEX >= 0x030C0000
typedef PyObject *raised_t;
static raised_t put_aside(void) { return PyErr_GetRaisedException(); }
static void put_back(raised_t raised) { PyErr_SetRaisedException(raised); }
#else
typedef struct {
    PyObject *type, *value, *traceback;
} raised_t;
static raised_t put_aside(void)
{
    raised_t raised;
    PyErr_Fetch(&raised.type, &raised.value, &raised.traceback);
    return raised;
}
static void put_back(raised_t raised)
{
    PyErr_Restore(raised.type, raised.value, raised.traceback);
}
#endif

static PyCodeObject *code_of(PyObject *coroutine)
{
    PyCodeObject *code = coroutine ? sonde_coroutine_code(coroutine) : NULL;
#if PY_VERSION_HEX >= 0x030C0000
    if (!code && coroutine && PyCoro_CheckExact(coroutine)) { // it has returned
        code = PyGen_GetCode((PyGenObject *)coroutine);
        Py_XDECREF(code); // the coroutine keeps it
    }
#else
    if (!code && coroutine && PyCoro_CheckExact(coroutine))
        code = ((PyGenObject *)coroutine)->gi_code;
#endif
    return code;
}

bool sonde_task_describe(sonde_thread *thread, sonde_task_entry *entry, PyObject *task,
                         PyObject *coroutine)
{
    raised_t raised = put_aside();
    PyObject *name = sonde_task_name(task);
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!text)
        PyErr_Clear();
    bool done = write_info(thread, entry, word_of(thread, code_of(coroutine)), text ? text : "");
    Py_XDECREF(name);
    put_back(raised);
    return done;
}

bool sonde_group_describe(sonde_thread *thread, sonde_task_entry *entry, PyCodeObject *code)
{
    return write_info(thread, entry, word_of(thread, code), "");
}

// The word of a function, which is no method; 0: it is of another kind.
static uint64_t word_of_function(sonde_thread *thread, PyObject *function)
{
    if (PyFunction_Check(function))
        return word_of(thread, (PyCodeObject *)PyFunction_GET_CODE(function));
    if (!PyCFunction_Check(function))
        return 0;
    PyCFunctionObject *c = (PyCFunctionObject *)function;
    const char *owner =
        c->m_self && !PyModule_Check(c->m_self) ? Py_TYPE(c->m_self)->tp_name : NULL;
    uint64_t id = sonde_describe_native(thread, c->m_ml, owner, c->m_ml->ml_name);
    return id << SONDE_INSTR_BITS;
}

static PyObject *without_self(PyObject *function)
{
    return PyMethod_Check(function) ? PyMethod_GET_FUNCTION(function) : function;
}

bool sonde_callback_describe(sonde_thread *thread, sonde_task_entry *entry, PyObject *function)
{
    function = without_self(function);
    const char *name = Py_TYPE(function)->tp_name;
    if (PyFunction_Check(function))
        name = "";
    else if (PyCFunction_Check(function))
        name = ((PyCFunctionObject *)function)->m_ml->ml_name;
    return write_info(thread, entry, word_of_function(thread, function), name);
}

void sonde_task_report(sonde_thread *thread, sonde_task_entry *entry, bool ended)
{
    entry->reported = entry->last_end;
    if (!entry->steps && !entry->tasks && !ended)
        return;
    sonde_rec_task_times *out = reserve(thread, sizeof *out);
    if (!out)
        return; // the next record has these, too
    *out = (sonde_rec_task_times){
        .rec = {sizeof *out, SONDE_REC_TASK_TIMES, ended, 0},
        .time = entry->last_end,
        .id = entry->id,
        .running = entry->running,
        .ready = entry->ready,
        .suspended = entry->suspended,
        .caused = entry->caused,
        .steps = entry->steps,
        .tasks = entry->tasks,
    };
    sonde_ring_commit(&thread->ring, sizeof *out);
    entry->running = entry->ready = entry->suspended = entry->caused = 0;
    entry->steps = entry->tasks = 0;
}

void sonde_task_write_wait(sonde_thread *thread, const sonde_task_entry *entry, PyObject *coroutine,
                           const sonde_readiness *woken, uint64_t time, uint64_t ready,
                           uint64_t suspended)
{
    uint64_t *words = sonde_stack(thread);
    const void *object = NULL;
    uint32_t count =
        coroutine ? sonde_coroutine_stack(thread, coroutine, words, MAX_CHAIN, &object) : 0;
    size_t size = sizeof(sonde_rec_task_wait) + count * sizeof *words;
    sonde_rec_task_wait *out = reserve(thread, size);
    if (!out)
        return;
    *out = (sonde_rec_task_wait){
        .rec = {(uint32_t)size, SONDE_REC_TASK_WAIT, woken->why, 0},
        .time = time,
        .id = entry->id,
        .waker = woken->waker,
        .ready = ready,
        .suspended = suspended,
        .object = (uintptr_t)object,
        .count = count,
    };
    memcpy(out->frames, words, count * sizeof *words);
    sonde_ring_commit(&thread->ring, size);
}

static uint64_t executed_word(sonde_thread *thread)
{
    raised_t raised = put_aside();
    PyObject *function = sonde_executed_function();
    uint64_t word = 0;
    if (function)
        word = word_of_function(thread, without_self(sonde_callback_function(function)));
    Py_XDECREF(function);
    put_back(raised);
    return word;
}

void sonde_task_write_resumption(sonde_thread *thread, const sonde_task_entry *entry,
                                 const sonde_readiness *woken, uint64_t time, uint64_t since)
{
    uint64_t executed = woken->why == SONDE_WOKEN_THREAD ? executed_word(thread) : 0;
    sonde_event stack = {0};
    uint32_t depth = sonde_cpython_walk_guarded(thread, &stack);
    sonde_stack_delta delta = sonde_stack_compute_delta(thread, depth, stack.flags);
    size_t size = sizeof(sonde_rec_task_resumed) + delta.count * sizeof(uint64_t);
    sonde_rec_task_resumed *out = reserve(thread, size);
    if (!out) {
        sonde_stack_lost(thread);
        return;
    }
    uint8_t flags = delta.detached ? stack.flags | SONDE_DETACHED : stack.flags;
    *out = (sonde_rec_task_resumed){
        .rec = {(uint32_t)size, SONDE_REC_TASK_RESUMED, woken->why, flags},
        .time = time,
        .id = entry->id,
        .waker = woken->waker,
        .since = since,
        .executed = executed,
        .interpreter = stack.interpreter,
        .keep = delta.keep,
        .count = delta.count,
    };
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, size);
}

void sonde_task_write_awaiter(sonde_thread *thread, const sonde_task_entry *entry,
                              const sonde_task_entry *awaiter, PyObject *coroutine, uint64_t time)
{
    uint64_t *words = sonde_stack(thread);
    const void *object;
    uint32_t count =
        coroutine ? sonde_coroutine_stack(thread, coroutine, words, MAX_CHAIN, &object) : 0;
    size_t size = sizeof(sonde_rec_task_awaiter) + count * sizeof *words;
    sonde_rec_task_awaiter *out = reserve(thread, size);
    if (!out)
        return;
    *out = (sonde_rec_task_awaiter){
        .rec = {(uint32_t)size, SONDE_REC_TASK_AWAITER, 0, 0},
        .time = time,
        .id = entry->id,
        .awaiter = awaiter->id,
        .count = count,
    };
    memcpy(out->frames, words, count * sizeof *words);
    sonde_ring_commit(&thread->ring, size);
}

void sonde_task_write_step(sonde_thread *thread, const sonde_task_entry *entry, uint64_t time,
                           uint64_t duration, uint64_t caused)
{
    sonde_rec_task_step *out = reserve(thread, sizeof *out);
    if (!out)
        return;
    *out = (sonde_rec_task_step){.rec = {sizeof *out, SONDE_REC_TASK_STEP, 0, 0},
                                 .time = time,
                                 .id = entry->id,
                                 .duration = duration,
                                 .caused = caused};
    sonde_ring_commit(&thread->ring, sizeof *out);
}
