#define _GNU_SOURCE
#include "cpython/probes/step_trace.h"

#include "core/base/clock.h"
#include "core/session/session.h"
#include "cpython/calls/tool_id.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if SONDE_HAS_MONITORING

#define BIT(event) (1u << PY_MONITORING_EVENT_##event)
#define EVENTS                                                                                     \
    (BIT(INSTRUCTION) | BIT(PY_START) | BIT(PY_RESUME) | BIT(PY_RETURN) | BIT(PY_YIELD) |          \
     BIT(PY_UNWIND) | BIT(PY_THROW))

static int tool = -1;
static _Atomic bool tracing;         // events are written
static _Atomic uint32_t trace_count; // of this process
static bool events_on;
static PyThreadState *only; // of this thread; NULL: of all
static uint32_t span_id;
static uint64_t until; // of a trace of all threads

// ---- writing; with the GIL, so that there is one writer at a time

typedef struct {
    uint32_t trace; // of which it has a chunk
    sonde_steps_chunk *chunk;
    uint64_t chunks;
    const PyCodeObject *code; // as the words say
} writer_t;

static _Thread_local writer_t mine __attribute__((tls_model("initial-exec")));

#define CHUNK_WORDS ((SONDE_STEPS_CHUNK - sizeof(sonde_steps_chunk)) / sizeof(uint16_t))
#define MAX_RECORD 8 // words

static uint8_t *room(void) { return (uint8_t *)(&sonde.area->steps + 1); }

static void is_full(sonde_steps *steps)
{
    atomic_store(&tracing, false);
    atomic_store(&steps->ended_ns, sonde_now());
    atomic_store(&steps->state, SONDE_STEPS_FULL);
    syscall(SYS_futex, &sonde.area->orders, FUTEX_WAKE, 1); // who switches events off
}

static bool next_chunk(sonde_thread *thread)
{
    sonde_steps *steps = &sonde.area->steps;
    uint64_t size = sonde.area_size - sizeof(sonde_probe_area);
    uint64_t at = atomic_load(&steps->used);
    if (at + SONDE_STEPS_CHUNK > size) {
        is_full(steps);
        return false;
    }
    sonde_steps_chunk *chunk = (sonde_steps_chunk *)(room() + at);
    chunk->tid = atomic_load(&thread->slot->tid);
    chunk->number = mine.chunks++;
    atomic_store(&chunk->used, 0);
    atomic_store(&steps->used, at + SONDE_STEPS_CHUNK);
    mine.chunk = chunk;
    return true;
}

// Room for one record more; NULL: the trace has ended.
static uint16_t *reserve(sonde_thread *thread)
{
    uint32_t trace = atomic_load_explicit(&trace_count, memory_order_relaxed);
    if (mine.trace != trace)
        mine = (writer_t){.trace = trace};
    uint32_t used = mine.chunk ? atomic_load_explicit(&mine.chunk->used, memory_order_relaxed) / 2
                               : CHUNK_WORDS;
    if (used + MAX_RECORD > CHUNK_WORDS) {
        if (!next_chunk(thread))
            return NULL;
        used = 0;
    }
    return mine.chunk->words + used;
}

static void write_event(PyCodeObject *code, int index, uint16_t word)
{
    sonde_thread *thread = sonde_enter();
    if (!thread)
        return;
    uint16_t *at = sonde.area ? reserve(thread) : NULL, *begin = at;
    // An object that died may have had the address.
    if (at && (mine.code != code || word == SONDE_WORD_START)) {
        uint64_t id = sonde_cpython_id(thread, code);
        *at++ = SONDE_WORD_CODE;
        memcpy(at, &id, sizeof id);
        at += 4;
        mine.code = id ? code : NULL;
    }
    if (at && word) {
        *at++ = word;
    } else if (at && index < SONDE_WORD_FIRST) {
        *at++ = (uint16_t)index;
    } else if (at) {
        uint32_t far = (uint32_t)index;
        *at++ = SONDE_WORD_FAR;
        memcpy(at, &far, sizeof far);
        at += 2;
    }
    if (at)
        atomic_fetch_add_explicit(&mine.chunk->used, (uint32_t)((uint8_t *)at - (uint8_t *)begin),
                                  memory_order_release);
    sonde_leave(thread);
}

// Without entering the session where nothing but an index is to be written, as is most often so:
// the memory stays while events are on.
static void write_instruction(PyCodeObject *code, int index)
{
    if (mine.chunk && mine.code == code && index < SONDE_WORD_FIRST &&
        mine.trace == atomic_load_explicit(&trace_count, memory_order_relaxed)) {
        uint32_t used = atomic_load_explicit(&mine.chunk->used, memory_order_relaxed);
        if (used / 2 + MAX_RECORD <= CHUNK_WORDS) {
            mine.chunk->words[used / 2] = (uint16_t)index;
            atomic_store_explicit(&mine.chunk->used, used + 2, memory_order_release);
            return;
        }
    }
    write_event(code, index, 0);
}

// ---- callbacks

static bool is_traced(void)
{
    return atomic_load_explicit(&tracing, memory_order_relaxed) &&
           (!only || only == PyThreadState_Get());
}

static PyObject *on_instruction(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count >= 2 && is_traced()) {
        int saved = errno;
        Py_ssize_t offset = PyLong_AsSsize_t(args[1]);
        write_instruction((PyCodeObject *)args[0], (int)(offset / (int)sizeof(_Py_CODEUNIT)));
        errno = saved;
    }
    Py_RETURN_NONE;
}

// The word of an event is its callback's own object.
static PyObject *on_event(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count >= 1 && is_traced()) {
        int saved = errno;
        write_event((PyCodeObject *)args[0], 0, (uint16_t)PyLong_AsLong(self));
        errno = saved;
    }
    Py_RETURN_NONE;
}

static PyMethodDef on_instruction_def = {
    "sonde_on_instruction", (PyCFunction)(void (*)(void))on_instruction, METH_FASTCALL, NULL};
static PyMethodDef on_event_def = {"sonde_on_event", (PyCFunction)(void (*)(void))on_event,
                                   METH_FASTCALL, NULL};

// ---- switching

static bool set_callback(int event, PyMethodDef *definition, uint16_t word)
{
    PyObject *self = PyLong_FromLong(word);
    PyObject *callback = self ? PyCFunction_New(definition, self) : NULL;
    Py_XDECREF(self);
    if (callback)
        sonde_tool_set_callback(PyInterpreterState_Main(), tool, event, callback);
    Py_XDECREF(callback);
    PyErr_Clear();
    return callback;
}

static bool make_ready(void)
{
    static const struct {
        int event;
        uint16_t word;
    } all[] = {
        {PY_MONITORING_EVENT_PY_START, SONDE_WORD_START},
        {PY_MONITORING_EVENT_PY_RESUME, SONDE_WORD_RESUME},
        {PY_MONITORING_EVENT_PY_RETURN, SONDE_WORD_RETURN},
        {PY_MONITORING_EVENT_PY_YIELD, SONDE_WORD_YIELD},
        {PY_MONITORING_EVENT_PY_UNWIND, SONDE_WORD_UNWIND},
        {PY_MONITORING_EVENT_PY_THROW, SONDE_WORD_THROW},
    };
    if (tool >= 0)
        return true;
    tool = sonde_tool_acquire(PyInterpreterState_Main());
    if (tool < 0)
        return false;
    bool ready = set_callback(PY_MONITORING_EVENT_INSTRUCTION, &on_instruction_def, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ready = ready && set_callback(all[i].event, &on_event_def, all[i].word);
    return ready;
}

static void begin(PyThreadState *of)
{
    sonde_steps *steps = &sonde.area->steps;
    if (!make_ready()) {
        atomic_store(&steps->trouble, SONDE_PROBE_NO_TOOL);
        atomic_store(&steps->state, SONDE_STEPS_REFUSED);
        return;
    }
    only = of;
    if (!of || !atomic_load(&steps->began_ns)) {
        atomic_store(&steps->began_ns, sonde_now());
        atomic_fetch_add(&trace_count, 1);
    }
    atomic_fetch_add(&steps->spans, of != NULL);
    atomic_store(&steps->state, SONDE_STEPS_RUNNING);
    until = sonde_now() + steps->duration_ns;
    atomic_store(&tracing, true);
    events_on = sonde_tool_set_events(tool, NULL, EVENTS);
}

static void switch_off(void)
{
    if (events_on)
        sonde_tool_set_events(tool, NULL, 0);
    events_on = false;
    only = NULL;
}

static bool is_of_span(const sonde_steps *steps) { return steps->span_length > 0; }

void sonde_steps_apply(void)
{
    sonde_steps *steps = &sonde.area->steps;
    if (atomic_load(&steps->state) == SONDE_STEPS_WANTED && !is_of_span(steps))
        begin(NULL);
}

void sonde_steps_end(void)
{
    sonde_steps *steps = sonde.area ? &sonde.area->steps : NULL;
    uint32_t running = SONDE_STEPS_RUNNING;
    if (atomic_exchange(&tracing, false) && steps) {
        atomic_store(&steps->ended_ns, sonde_now());
        uint32_t next = is_of_span(steps) ? SONDE_STEPS_WANTED : SONDE_STEPS_ENDED;
        atomic_compare_exchange_strong(&steps->state, &running, next);
    }
    switch_off();
}

void sonde_steps_span_begins(const char *name, size_t length, uint32_t id)
{
    sonde_steps *steps = sonde.area ? &sonde.area->steps : NULL;
    if (!steps || atomic_load(&steps->state) != SONDE_STEPS_WANTED || !is_of_span(steps) ||
        steps->span_length != length || length > sizeof steps->span ||
        memcmp(steps->span, name, length) != 0 || events_on)
        return;
    span_id = id;
    begin(PyThreadState_Get());
}

void sonde_steps_span_ends(uint32_t id)
{
    if (events_on && only && span_id == id)
        sonde_steps_end();
}

bool sonde_steps_are_due(uint64_t now, uint64_t *left_ns)
{
    if (!events_on)
        return false;
    if (!atomic_load(&tracing))
        return true;
    if (only)
        return false;
    *left_ns = until > now ? until - now : 0;
    if (*left_ns)
        return false;
    return true;
}

void sonde_steps_remove(void)
{
    sonde_steps_end();
    if (tool >= 0)
        sonde_tool_release(PyInterpreterState_Main(), tool);
    tool = -1;
}

void sonde_step_trace_forked(void)
{
    atomic_store(&tracing, false);
    only = NULL;
}

#else

void sonde_steps_apply(void)
{
    sonde_steps *steps = &sonde.area->steps;
    if (atomic_load(&steps->state) == SONDE_STEPS_WANTED) {
        atomic_store(&steps->trouble, SONDE_PROBE_UNSUPPORTED);
        atomic_store(&steps->state, SONDE_STEPS_REFUSED);
    }
}

void sonde_steps_end(void) {}

void sonde_steps_span_begins(const char *name, size_t length, uint32_t id)
{
    (void)name;
    (void)length;
    (void)id;
}

void sonde_steps_span_ends(uint32_t id) { (void)id; }

bool sonde_steps_are_due(uint64_t now, uint64_t *left_ns)
{
    (void)now;
    (void)left_ns;
    return false;
}

void sonde_steps_remove(void) {}

void sonde_step_trace_forked(void) {}

#endif
