#define _GNU_SOURCE
#include "cpython/probes/line_probes.h"

#include "core/base/hash.h"
#include "core/session/session.h"
#include "cpython/calls/tool_id.h"
#include "cpython/heap/layouts.h"
#include "cpython/probes/code_lines.h"
#include "cpython/probes/expression.h"
#include "cpython/probes/probe_values.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <string.h>

#if SONDE_HAS_MONITORING

#define LINE (1u << PY_MONITORING_EVENT_LINE)

// ---- probes, copied from the area

typedef struct {
    uint32_t serial; // 0: none
    uint32_t line, every;
    size_t file_length;
    char file[SONDE_PROBE_TEXT];
    sonde_expression expression;
} probe_t;

static probe_t probes[SONDE_MAX_PROBES];
static uint32_t applied;
static int tool = -1, watcher = -1;
static PyObject *disable, *callback;

// ---- code objects that are watched: references that the watcher ends

#define PLACE_BITS 10
#define MAX_PLACES (1u << PLACE_BITS)
#define MAX_WATCHED (MAX_PLACES / 2)

typedef struct {
    PyCodeObject *code; // NULL: free
    uint32_t probes;    // one bit each
    int16_t local[SONDE_MAX_PROBES];
} place_t;

static place_t places[MAX_PLACES];
static uint32_t watched;

static place_t *place_of(const PyCodeObject *code)
{
    uint32_t at = sonde_hash_place((uint64_t)(uintptr_t)code, PLACE_BITS);
    while (places[at].code && places[at].code != code)
        at = (at + 1) & (MAX_PLACES - 1);
    return &places[at];
}

static void free_place(place_t *place)
{
    place->code = NULL;
    watched--;
    // Those that had to go past it, one after the other.
    uint32_t at = (uint32_t)(place - places);
    for (uint32_t next = (at + 1) & (MAX_PLACES - 1); places[next].code;
         next = (next + 1) & (MAX_PLACES - 1)) {
        place_t moved = places[next];
        places[next].code = NULL;
        *place_of(moved.code) = moved;
    }
}

static sonde_probe *in_area(int number)
{
    sonde_probe *probe = &sonde.area->probes[number];
    return atomic_load(&probe->serial) == probes[number].serial ? probe : NULL;
}

static void count_places(uint32_t changed, int by)
{
    for (int i = 0; i < (int)SONDE_MAX_PROBES; i++)
        if (changed >> i & 1 && sonde.area)
            atomic_fetch_add(&sonde.area->probes[i].places, (uint32_t)by);
}

// ---- hits

static void hit(sonde_thread *thread, int number, const place_t *place, const frame_t *frame)
{
    sonde_probe *counts = in_area(number);
    const probe_t *probe = &probes[number];
    if (!counts ||
        atomic_fetch_add_explicit(&counts->hits, 1, memory_order_relaxed) % probe->every != 0)
        return;
    sonde_stored read =
        sonde_expression_evaluate(&probe->expression, frame, place->code, place->local[number]);
    if (!read.value) {
        atomic_fetch_add_explicit(&counts->failures[read.failure], 1, memory_order_relaxed);
        return;
    }
    bool written = sonde_probe_write(thread, probe->serial, read.value);
    atomic_fetch_add_explicit(written ? &counts->sampled : &counts->lost, 1, memory_order_relaxed);
    Py_DECREF(read.value);
}

static uint32_t probes_at(const place_t *place, long line)
{
    uint32_t found = 0;
    for (uint32_t left = place->code ? place->probes : 0; left; left &= left - 1) {
        int number = __builtin_ctz(left);
        if (probes[number].serial && (long)probes[number].line == line)
            found |= 1u << number;
    }
    return found;
}

static PyObject *on_line(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count < 2 || PyInterpreterState_Get() != PyInterpreterState_Main())
        return Py_NewRef(disable);
    const place_t *place = place_of((PyCodeObject *)args[0]);
    uint32_t here = probes_at(place, PyLong_AsLong(args[1]));
    if (!here)
        return Py_NewRef(disable);
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        frame_t *frame = sonde_cpython_top(PyThreadState_Get());
        while (frame && frame_is_shim(frame))
            frame = frame->previous;
        bool wanted = sonde.area && sonde_what() & SONDE_WHAT_PROBES;
        if (wanted && frame && frame_code(frame) == place->code)
            for (; here; here &= here - 1)
                hit(thread, __builtin_ctz(here), place, frame);
        sonde_leave(thread);
    }
    errno = saved;
    Py_RETURN_NONE;
}

static PyMethodDef on_line_def = {"sonde_on_line", (PyCFunction)(void (*)(void))on_line,
                                  METH_FASTCALL, NULL};

// ---- watching code

// Events that a line has switched off come back only where all were off.
static void renew_events(PyCodeObject *code, bool wanted)
{
    sonde_tool_set_events(tool, code, 0);
    if (wanted)
        sonde_tool_set_events(tool, code, LINE);
}

static uint32_t probes_in(PyCodeObject *code, uint32_t of)
{
    uint32_t found = 0;
    for (; of; of &= of - 1) {
        int number = __builtin_ctz(of);
        const probe_t *probe = &probes[number];
        if (probe->serial && sonde_code_is_of_file(code, probe->file, probe->file_length) &&
            sonde_code_has_line(code, probe->line))
            found |= 1u << number;
    }
    return found;
}

static void watch(PyCodeObject *code, uint32_t found)
{
    place_t *place = place_of(code);
    uint32_t fresh = place->code ? found & ~place->probes : found;
    if (!fresh)
        return;
    if (!place->code) {
        if (watched == MAX_WATCHED) {
            for (uint32_t left = fresh; left; left &= left - 1)
                atomic_store(&sonde.area->probes[__builtin_ctz(left)].trouble,
                             SONDE_PROBE_TOO_MANY);
            return;
        }
        *place = (place_t){.code = code};
        watched++;
    }
    place->probes |= fresh;
    count_places(fresh, 1);
    for (uint32_t left = fresh; left; left &= left - 1) {
        int number = __builtin_ctz(left);
        PyObject *name = sonde_expression_variable(&probes[number].expression);
        place->local[number] = (int16_t)sonde_stored_local(code, name);
    }
    renew_events(code, true);
}

// The code objects among its constants are not seen otherwise before they run.
#define MAX_NESTED 32

static void watch_all(PyCodeObject *code, uint32_t of, int depth)
{
    uint32_t of_file = 0;
    for (uint32_t left = of; left; left &= left - 1) {
        const probe_t *probe = &probes[__builtin_ctz(left)];
        if (sonde_code_is_of_file(code, probe->file, probe->file_length))
            of_file |= left & -left;
    }
    if (!of_file)
        return;
    uint32_t found = probes_in(code, of_file);
    if (found)
        watch(code, found);
    PyObject *constants = depth < MAX_NESTED ? code->co_consts : NULL;
    for (Py_ssize_t i = 0; constants && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(constant))
            watch_all((PyCodeObject *)constant, of_file, depth + 1);
    }
}

static uint32_t active_probes(void)
{
    uint32_t active = 0;
    for (int i = 0; i < (int)SONDE_MAX_PROBES; i++)
        active |= probes[i].serial ? 1u << i : 0;
    return active;
}

static int on_code(PyCodeEvent event, PyCodeObject *code)
{
    if (!sonde.area || PyInterpreterState_Get() != PyInterpreterState_Main())
        return 0;
    place_t *place = place_of(code);
    if (event == PY_CODE_EVENT_DESTROY) {
        if (place->code) {
            count_places(place->probes, -1);
            free_place(place);
        }
        return 0;
    }
    uint32_t found = probes_in(code, active_probes());
    if (found)
        watch(code, found);
    return 0;
}

// ---- finding code that is there already

#define MAX_FOUND 4096

typedef struct {
    uint32_t of;
    int count;
    PyCodeObject *codes[MAX_FOUND];
} search_t;

static search_t search;

static void note(PyCodeObject *code)
{
    for (uint32_t left = search.of; left; left &= left - 1) {
        const probe_t *probe = &probes[__builtin_ctz(left)];
        if (search.count < MAX_FOUND &&
            sonde_code_is_of_file(code, probe->file, probe->file_length)) {
            search.codes[search.count++] = (PyCodeObject *)Py_NewRef(code);
            return;
        }
    }
}

static void note_frame(const frame_t *frame)
{
    PyCodeObject *code;
    Py_ssize_t index;
    if (frame && !frame_is_shim(frame) && frame_decode(frame, &code, &index))
        note(code);
}

static int on_object(PyObject *object, void *unused)
{
    (void)unused;
    if (PyFunction_Check(object)) {
        PyObject *code = PyFunction_GET_CODE(object);
        if (code && PyCode_Check(code))
            note((PyCodeObject *)code);
    } else if (heap_has_frame(object)) {
        note_frame(heap_frame_in(object));
    }
    return 1;
}

// Functions, generators, and what runs now: the code of a module is nobody's.
static void find_code(uint32_t of)
{
    search.of = of;
    search.count = 0;
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; state; state = PyThreadState_Next(state))
        for (frame_t *f = sonde_cpython_top(state); f; f = f->previous)
            note_frame(f);
    PyUnstable_GC_VisitObjects(on_object, NULL);
    for (int i = 0; i < search.count; i++) {
        watch_all(search.codes[i], of, 0);
        Py_DECREF(search.codes[i]);
    }
}

// ---- orders

static void drop(uint32_t dropped)
{
    if (!dropped)
        return;
    // Freeing a place moves others, so each pass frees one.
    for (uint32_t at = 0; at < MAX_PLACES;) {
        place_t *place = &places[at];
        uint32_t gone = place->code ? place->probes & dropped : 0;
        if (!gone) {
            at++;
            continue;
        }
        place->probes &= ~gone;
        renew_events(place->code, place->probes);
        if (!place->probes)
            free_place(place);
    }
    for (; dropped; dropped &= dropped - 1) {
        probe_t *probe = &probes[__builtin_ctz(dropped)];
        sonde_expression_forget(&probe->expression);
        probe->serial = 0;
    }
}

static uint32_t make_ready(void)
{
    if (tool >= 0)
        return SONDE_PROBE_FINE;
    PyObject *monitoring = PySys_GetObject("monitoring"); // borrowed
    if (!disable && monitoring)
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
    if (!callback)
        callback = PyCFunction_New(&on_line_def, NULL);
    PyErr_Clear();
    if (!disable || !callback)
        return SONDE_PROBE_UNSUPPORTED;
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    tool = sonde_tool_acquire(interpreter);
    if (tool < 0)
        return SONDE_PROBE_NO_TOOL;
    sonde_tool_set_callback(interpreter, tool, PY_MONITORING_EVENT_LINE, callback);
    watcher = PyCode_AddWatcher(on_code);
    PyErr_Clear();
    return SONDE_PROBE_FINE;
}

// False, and why, if it is none that can be read.
static bool take_over(int number, sonde_probe *wanted)
{
    probe_t *probe = &probes[number];
    uint32_t serial = atomic_load(&wanted->serial);
    if (!serial)
        return false;
    uint32_t trouble = make_ready();
    size_t file = wanted->file_length, steps = wanted->steps_length;
    if (!trouble && (!file || file + steps > SONDE_PROBE_TEXT || !wanted->every ||
                     !sonde_expression_parse(&probe->expression, wanted->text + file, steps)))
        trouble = SONDE_PROBE_INVALID;
    atomic_store(&wanted->trouble, trouble);
    if (trouble)
        return false;
    memcpy(probe->file, wanted->text, file);
    probe->file_length = file;
    probe->line = wanted->line;
    probe->every = wanted->every;
    probe->serial = serial;
    return true;
}

void sonde_line_probes_apply(void)
{
    uint32_t orders = atomic_load(&sonde.area->orders);
    if (orders == applied)
        return;
    uint32_t dropped = 0, fresh = 0;
    for (int i = 0; i < (int)SONDE_MAX_PROBES; i++)
        if (probes[i].serial && probes[i].serial != atomic_load(&sonde.area->probes[i].serial))
            dropped |= 1u << i;
    drop(dropped);
    for (int i = 0; i < (int)SONDE_MAX_PROBES; i++)
        if (!probes[i].serial && take_over(i, &sonde.area->probes[i]))
            fresh |= 1u << i;
    if (fresh)
        find_code(fresh);
    applied = orders;
    atomic_store(&sonde.area->applied, orders);
}

void sonde_line_probes_remove(void)
{
    drop(active_probes());
    if (watcher >= 0)
        PyCode_ClearWatcher(watcher);
    PyErr_Clear();
    watcher = -1;
    if (tool >= 0)
        sonde_tool_release(PyInterpreterState_Main(), tool);
    tool = -1;
    applied = 0;
}

void sonde_line_probes_forked(void)
{
    applied = 0;
    for (uint32_t at = 0; at < MAX_PLACES; at++)
        if (places[at].code)
            count_places(places[at].probes, 1);
}

#else

void sonde_line_probes_apply(void)
{
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++)
        atomic_store(&sonde.area->probes[i].trouble, SONDE_PROBE_UNSUPPORTED);
    atomic_store(&sonde.area->applied, atomic_load(&sonde.area->orders));
}

void sonde_line_probes_remove(void) {}

void sonde_line_probes_forked(void) {}

#endif
