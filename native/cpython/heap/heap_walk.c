#define _GNU_SOURCE
#include "cpython/heap/heap_walk.h"

#include "core/base/clock.h"
#include "cpython/heap/edges.h"
#include "cpython/heap/object_size.h"
#include "cpython/heap/object_value.h"

#include <errno.h>

static heap_progress *progress;

// An interpreter with a GIL of its own may be changing its objects.
static bool shares_gil(PyInterpreterState *interpreter)
{
#if PY_VERSION_HEX >= 0x030C0000
    return interpreter == _PyRuntime.interpreters.main || !interpreter->ceval.own_gil;
#else
    (void)interpreter;
    return true;
#endif
}

bool sonde_heap_is_collecting(void)
{
    PyInterpreterState *i = _PyRuntime.interpreters.head;
    for (; i; i = i->next)
        if (shares_gil(i) && i->gc.collecting)
            return true;
    return false;
}

static void write_object(uint32_t ref, uint32_t type, size_t size, uint32_t count)
{
    heap_object *record = heap_room(HEAP_OBJECTS, sizeof *record);
    bool large = size >= UINT32_MAX;
    *record =
        (heap_object){ref, type, large ? UINT32_MAX : (uint32_t)size, count, sonde_heap_edge_count};
    if (large) {
        heap_large *more = heap_room(HEAP_LARGE, sizeof *more);
        *more = (heap_large){ref, 0, size};
    }
    progress->objects++;
    progress->edges += sonde_heap_edge_count;
}

static uint32_t limited(size_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

// Which code a frame executes, or an object that has one inside.
static void write_frame(uint32_t ref, const frame_t *f, uint32_t thread)
{
    heap_frame *frame = heap_room(HEAP_FRAMES, sizeof *frame);
    *frame = (heap_frame){ref, heap_want(frame_code(f)), thread};
}

// One that is marked as written.
static void write_one(PyObject *object, uint32_t ref)
{
    atomic_store_explicit(&progress->object, (uintptr_t)object, memory_order_relaxed);
    sonde_heap_edge_count = 0;
    uint32_t type = heap_want(Py_TYPE(object));
    sonde_heap_edges(object);
    sonde_heap_write_value(object, ref);
    if (PyType_Check(object))
        sonde_heap_write_class((PyTypeObject *)object, ref);
    const frame_t *f = heap_frame_in(object);
    if (f && heap_frame_has_code(f))
        write_frame(ref, f, 0);
    heap_capacity capacity = sonde_heap_capacity(object);
    if (capacity.room) {
        heap_container *container = heap_room(HEAP_CONTAINERS, sizeof *container);
        *container = (heap_container){ref, limited(capacity.room), limited(capacity.used)};
    }
    uint32_t count = heap_is_immortal(object) ? HEAP_NONE : (uint32_t)Py_REFCNT(object);
    write_object(ref, type, sonde_heap_size(object), count);
}

// ---- the collector's lists

static PyGC_Head *next(const PyGC_Head *head)
{
    return (PyGC_Head *)(head->_gc_next & ~(uintptr_t)3); // two bits may be flags
}

// Parts of an object are not written as objects of their own.
static void absorb(PyGC_Head *list)
{
    for (PyGC_Head *head = next(list); head && head != list; head = next(head)) {
        PyObject *object = (PyObject *)(head + 1);
        PyTypeObject *type = Py_TYPE(object);
        bool has_parts = type->tp_flags & Py_TPFLAGS_HEAPTYPE || PyType_Check(object) ||
                         PyFunction_Check(object) || PyModule_Check(object);
        if (!has_parts)
            continue;
        PyObject *parts[] = {heap_attributes_of(object).dict, heap_closure_of(object)};
        for (int i = 0; i < 2; i++)
            if (heap_is_absorbed(object, parts[i]))
                heap_mark_part(heap_ref(parts[i]));
    }
}

static void write_listed(PyGC_Head *list)
{
    for (PyGC_Head *head = next(list); head && head != list; head = next(head)) {
        PyObject *object = (PyObject *)(head + 1);
        uint32_t ref = heap_ref(object);
        if (heap_mark_written(ref))
            write_one(object, ref);
    }
}

static void all_lists(void (*do_)(PyGC_Head *))
{
    PyInterpreterState *i = _PyRuntime.interpreters.head;
    for (; i; i = i->next) {
        if (!shares_gil(i))
            continue;
        for (int generation = 0; generation < NUM_GENERATIONS; generation++)
            do_(&i->gc.generations[generation].head);
        do_(&i->gc.permanent_generation.head);
    }
}

// ---- roots

static void write_root(PyObject *object, heap_root_kind kind, uint32_t name)
{
    heap_root *root = heap_room(HEAP_ROOTS, sizeof *root);
    *root = (heap_root){heap_want(object), kind, name};
}

static void write_modules(PyInterpreterState *interpreter)
{
    PyObject *modules = heap_interpreter_modules(interpreter);
    if (!modules || !PyDict_CheckExact(modules))
        return;
    PyDictKeysObject *keys = ((PyDictObject *)modules)->ma_keys;
    bool general = keys->dk_kind == DICT_KEYS_GENERAL;
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
        PyObject *key = general ? DK_ENTRIES(keys)[i].me_key : DK_UNICODE_ENTRIES(keys)[i].me_key;
        PyObject *value =
            general ? DK_ENTRIES(keys)[i].me_value : DK_UNICODE_ENTRIES(keys)[i].me_value;
        if (key && value && PyUnicode_Check(key))
            write_root(value, ROOT_MODULE, heap_want(key));
    }
}

static void write_frames(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000
    const frame_t *f = thread->current_frame;
#else
    const frame_t *f = thread->cframe ? thread->cframe->current_frame : NULL;
#endif
    for (; f; f = f->previous) {
        if (!heap_frame_has_code(f))
            continue;
        uint32_t ref = heap_ref(f), tid = (uint32_t)thread->native_thread_id;
        if (!heap_mark_written(ref))
            continue;
        PyCodeObject *code = frame_code(f);
        sonde_heap_edge_count = 0;
        sonde_heap_frame_edges(f);
        write_frame(ref, f, tid);
        heap_root *root = heap_room(HEAP_ROOTS, sizeof *root);
        *root = (heap_root){ref, ROOT_FRAME, tid};
        size_t size = offsetof(frame_t, localsplus) +
                      sizeof(void *) * (size_t)(code->co_nlocalsplus + code->co_stacksize);
        // A generator's is a part of that.
        write_object(ref, HEAP_NONE, f->owner == FRAME_OWNED_BY_THREAD ? size : 0, HEAP_NONE);
    }
}

static void write_roots(PyInterpreterState *interpreter)
{
    write_modules(interpreter);
    for (PyThreadState *t = interpreter->threads.head; t; t = t->next)
        write_frames(t);
    struct {
        PyObject *object;
        const char *name;
    } others[] = {
        {interpreter->sysdict, "sys"},
        {interpreter->builtins, "builtins"},
        {heap_interpreter_modules(interpreter), "sys.modules"},
        {interpreter->dict, "state of extensions"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].object)
            write_root(others[i].object, ROOT_INTERPRETER, sonde_heap_name(others[i].name));
}

static void write_all_roots(void)
{
    for (PyInterpreterState *i = _PyRuntime.interpreters.head; i; i = i->next) {
        if (shares_gil(i))
            write_roots(i);
        else
            progress->interpreters_left_out++;
    }
}

// ---- the whole

static void write_head(void)
{
    heap_head *head = heap_room(HEAP_HEAD, sizeof *head);
    *head = (heap_head){SONDE_HEAP_MAGIC, (uint32_t)Py_Version, 0};
}

static void write_regions(void)
{
    for (uint32_t i = 0; i < sonde_heap_region_count; i++) {
        heap_region *region = sonde_heap_regions[i];
        memcpy(heap_room(HEAP_REGIONS, sizeof region->number), &region->number,
               sizeof region->number);
        uint64_t *bits = heap_room(HEAP_BITS, sizeof region->written);
        for (uint32_t word = 0; word < HEAP_REGION_WORDS; word++)
            bits[word] = region->written[word] & ~region->parts[word];
    }
}

void sonde_heap_walk(int fd, heap_progress *shared)
{
    uint64_t start = sonde_now();
    progress = shared;
    if (!sonde_heap_stream_start(fd) || !sonde_heap_regions_start()) {
        progress->error = ENOMEM;
        return;
    }
    write_head();
    sonde_heap_stream_flush(HEAP_HEAD);
    all_lists(absorb);
    all_lists(write_listed);
    write_all_roots();
    for (uintptr_t at; (at = sonde_heap_region_next());)
        write_one((PyObject *)at, heap_ref((void *)at));
    write_regions();
    progress->left_out = sonde_heap_left_out;
    heap_totals *totals = heap_room(HEAP_TOTALS, sizeof *totals);
    *totals = (heap_totals){progress->objects, progress->edges, progress->left_out,
                            progress->interpreters_left_out};
    progress->error = sonde_heap_stream_end();
    progress->walk_ns = sonde_now() - start;
    atomic_store(&progress->complete, true);
}
