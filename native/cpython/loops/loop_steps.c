#define _GNU_SOURCE
#include "cpython/loops/loop_steps.h"

#include "core/base/clock.h"
#include "core/session/current_task.h"
#include "core/session/session.h"
#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/coroutine.h"
#include "cpython/loops/ready_queue.h"
#include "cpython/loops/task_records.h"
#include "cpython/loops/task_table.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// Steps and waits of at least this length have records of their own.
#define LONG_NS 1000000u
// Steps that others waited for in vain are kept for timers, which may have been due in them.
#define RECENT_NS 100000u
#define REPORT_NS 250000000u
// Records a second of waits, and of short steps that many waited for; more in a burst.
#define RECORDS_PER_MS 1u
#define MAX_BURST 2000u

static uint32_t generation; // of the hooks; 0: they are not in place
static uint32_t last_generation;
static uint64_t started;
static uint64_t records_left, records_at; // which may be written, and when that was reckoned

typedef struct {
    uint32_t generation;
    bool stepping, taken;
    sonde_queue *queue;
    sonde_readiness woken;
    PyObject *handle;    // taken, and not called yet
    PyObject *callback;  // of a step that C code calls
    PyObject *coroutine; // of the task that takes a step; a reference of ours
    sonde_task_entry *entry;
    uint64_t begin, waiting; // callbacks that were ready when the step began
} loop_thread;

static _Thread_local loop_thread mine __attribute__((tls_model("initial-exec")));

static bool may_write(uint64_t now)
{
    uint64_t passed = (now - records_at) / 1000000u;
    if (passed) {
        records_at = now;
        records_left += passed * RECORDS_PER_MS;
        records_left = records_left < MAX_BURST ? records_left : MAX_BURST;
    }
    if (!records_left)
        return false;
    records_left--;
    return true;
}

static bool is_captured(void) { return sonde_what() & SONDE_WHAT_TASKS; }

static loop_thread *here(void)
{
    if (mine.generation != generation) // a step of an earlier session may be under way
        mine = (loop_thread){.generation = generation,
                             .stepping = mine.stepping,
                             .callback = mine.callback,
                             .coroutine = mine.coroutine};
    return &mine;
}

// ---- the queue

static uint64_t count_overlap(sonde_queue *queue, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < SONDE_RECENT_STEPS; i++) {
        sonde_recent_step *step = &queue->recent[i];
        uint64_t begin = step->begin > from ? step->begin : from;
        uint64_t end = step->end < to ? step->end : to;
        if (end > begin && step->caused)
            *step->caused += end - begin;
    }
    return from;
}

void sonde_handle_ready(PyObject *deque, PyObject *handle)
{
    if (!generation)
        return;
    uint64_t now = sonde_now();
    loop_thread *me = here();
    sonde_queue *queue =
        me->queue && me->queue->deque == deque ? me->queue : sonde_queue_of(deque, now);
    if (!queue)
        return;
    sonde_readiness entry = {now, sonde_current_task.id, SONDE_WOKEN_THREAD};
    if (me->stepping && !me->queue) // it took its first step before we knew the loop
        me->queue = queue;
    if (me->stepping && me->queue == queue) {
        // A callback passes on what called it: of a timer, say, or of a socket.
        bool passes = me->entry && me->entry->kind == SONDE_TASK_CALLBACK && me->woken.why;
        entry.why = passes ? me->woken.why : SONDE_WOKEN_STEP;
    } else if (me->queue == queue)
        entry.why = SONDE_WOKEN_IO;
    if (!me->stepping && entry.why == SONDE_WOKEN_IO && sonde_is_timer(handle)) {
        uint64_t due = sonde_timer_due(handle);
        entry.why = SONDE_WOKEN_TIMER;
        if (due && due < now)
            entry.ready = count_overlap(queue, due > started ? due : started, now);
    }
    if (queue->stepping) {
        queue->added++;
        queue->added_times += now;
    }
    queue->used = now;
    sonde_queue_push(queue, deque, entry);
}

void sonde_handle_taken(PyObject *deque, PyObject *handle)
{
    loop_thread *me = here();
    if (!generation || me->stepping)
        return;
    sonde_queue *queue =
        me->queue && me->queue->deque == deque ? me->queue : sonde_queue_of(deque, sonde_now());
    me->queue = queue;
    me->taken = queue != NULL;
    if (!queue)
        return;
    me->woken = sonde_queue_pop(queue, deque);
    me->handle = handle;
    queue->runtime = sonde_is_uvloop_handle(handle) ? SONDE_LOOP_UVLOOP : SONDE_LOOP_ASYNCIO;
    if (!queue->tid)
        queue->tid = (uint32_t)syscall(SYS_gettid);
}

// ---- whose step it is

static sonde_task_entry *entry_of_task(PyObject *task, PyObject *coroutine,
                                       const sonde_readiness *woken, uint64_t now)
{
    bool fresh = coroutine && sonde_coroutine_state_of(coroutine) == SONDE_COROUTINE_CREATED;
    sonde_task_entry *entry = sonde_task_find(task);
    if (entry && (entry->about != coroutine || (fresh && entry->last_end))) {
        sonde_task_remove(entry); // of a task that died
        entry = NULL;
    }
    if (entry)
        return entry;
    entry = sonde_task_add(task, SONDE_TASK_TASK, now);
    if (!entry)
        return NULL;
    entry->about = coroutine;
    if (fresh) {
        entry->created = woken->ready ? woken->ready : now;
        entry->parent = woken->waker;
    } else {
        entry->last_end = started; // it has been suspended since
    }
    return entry;
}

static sonde_task_entry *entry_of_callback(PyObject *callback, uint64_t now)
{
    PyObject *function = sonde_callback_function(callback);
    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    const void *key = Py_TYPE(function), *about = NULL;
    if (PyFunction_Check(function)) {
        key = PyFunction_GET_CODE(function);
        about = ((const PyCodeObject *)key)->co_qualname;
    } else if (PyCFunction_Check(function)) {
        key = ((PyCFunctionObject *)function)->m_ml;
    }
    sonde_task_entry *entry = sonde_task_find(key);
    if (entry && entry->about != about) { // another code at the address of one that died
        sonde_task_remove(entry);
        entry = NULL;
    }
    if (!entry && (entry = sonde_task_add(key, SONDE_TASK_CALLBACK, now)))
        entry->about = about;
    return entry;
}

// ---- a step

// A timer wakes a task by setting the result of the future that it awaits: when the timer is late,
// it is the task that waited for the loop.
static sonde_task_entry *entry_of_sleeper(const loop_thread *me, PyObject *future,
                                          PyObject **coroutine, uint64_t now)
{
    PyObject *task =
        me->woken.why == SONDE_WOKEN_TIMER && future ? sonde_future_awaiter(future) : NULL;
    if (!task)
        return NULL;
    *coroutine = sonde_task_coroutine(task);
    return entry_of_task(task, *coroutine, &me->woken, now);
}

static void write_wait(loop_thread *me, sonde_task_entry *entry, PyObject *coroutine, uint64_t now,
                       uint64_t ready, uint64_t suspended)
{
    if ((ready < LONG_NS && suspended < LONG_NS) || !may_write(now))
        return;
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        sonde_task_write_wait(thread, entry, coroutine, &me->woken, now, ready, suspended);
        sonde_leave(thread);
        entry->noted = 1;
    }
    errno = saved;
}

static bool begin(loop_thread *me, PyObject *callback, PyObject *task, PyObject *argument)
{
    uint64_t now = sonde_now();
    PyObject *coroutine = task ? sonde_task_coroutine(task) : NULL;
    sonde_task_entry *entry =
        task ? entry_of_task(task, coroutine, &me->woken, now) : entry_of_callback(callback, now);
    me->taken = false;
    me->handle = NULL;
    if (!entry || entry->stepping)
        return false;
    uint64_t ready = me->woken.ready && me->woken.ready < now ? now - me->woken.ready : 0;
    uint64_t suspended = 0;
    if (task && entry->last_end && entry->last_end < now - ready)
        suspended = now - ready - entry->last_end;
    else if (task && entry->last_end && ready > now - entry->last_end)
        ready = now - entry->last_end; // it was due before it was set
    sonde_queue *queue = me->queue;
    if (queue && me->woken.ready)
        sonde_queue_waited(queue, ready);
    PyObject *sleeping = NULL;
    sonde_task_entry *sleeper =
        task || ready < LONG_NS ? NULL : entry_of_sleeper(me, argument, &sleeping, now);
    uint64_t late = entry->late < suspended ? entry->late : suspended;
    entry->late = 0;
    entry->suspended += suspended - late;
    entry->ready += ready + late;
    if (sleeper) {
        entry->ready -= ready;
        sleeper->late += ready;
        write_wait(me, sleeper, sleeping, now, ready, 0);
    } else {
        write_wait(me, entry, coroutine, now, ready, suspended - late);
    }
    me->stepping = entry->stepping = true;
    me->entry = entry;
    me->begin = now;
    me->coroutine = coroutine;
    Py_XINCREF(coroutine);
    if (queue) {
        me->waiting = queue->deque ? (uint64_t)queue->count : 0;
        queue->stepping = true;
        queue->added = queue->added_times = 0;
        queue->used = now;
    }
    sonde_current_task.noted = &entry->noted;
    sonde_current_task.id = task ? entry->id : 0;
    return true;
}

bool sonde_step_begin(PyObject *callback, PyObject *argument)
{
    if (!generation)
        return false;
    sonde_asyncio_find();
    loop_thread *me = here();
    if (me->stepping || !is_captured())
        return false;
    PyObject *task = sonde_task_of(callback);
    if (!me->taken) {
        if (!task)
            return false;
        me->woken = (sonde_readiness){0}; // the loop took it before we looked
    }
    return begin(me, callback, task, argument);
}

// What others waited while it ran: those that were ready all the time, and those that became so.
static uint64_t caused_by(const loop_thread *me, uint64_t now)
{
    const sonde_queue *queue = me->queue;
    if (!queue)
        return 0;
    return me->waiting * (now - me->begin) + queue->added * now - queue->added_times;
}

static void remember_recent(sonde_queue *queue, sonde_task_entry *entry, uint64_t begin,
                            uint64_t end)
{
    sonde_recent_step *step = &queue->recent[queue->last_recent++ % SONDE_RECENT_STEPS];
    *step = (sonde_recent_step){begin, end, &entry->caused};
}

static void forget_recent(sonde_queue *queue, const sonde_task_entry *entry)
{
    for (uint32_t i = 0; queue && i < SONDE_RECENT_STEPS; i++)
        if (queue->recent[i].caused == &entry->caused)
            queue->recent[i].caused = NULL;
}

// A task that no record refers to is added to those of its coroutine function.
static sonde_task_entry *add_to_group(const sonde_task_entry *entry, PyCodeObject *code,
                                      uint64_t now)
{
    const void *key = (const char *)code + 1; // no object's address
    sonde_task_entry *group = sonde_task_find(key);
    if (group && group->about != code->co_qualname) {
        sonde_task_remove(group);
        group = NULL;
    }
    if (!group && (group = sonde_task_add(key, SONDE_TASK_GROUP, now)))
        group->about = code->co_qualname;
    if (!group)
        return NULL;
    group->running += entry->running;
    group->ready += entry->ready;
    group->suspended += entry->suspended;
    group->caused += entry->caused;
    group->steps += entry->steps;
    group->tasks++;
    group->last_end = now;
    return group;
}

static PyCodeObject *finished_code(PyObject *coroutine)
{
    if (!PyCoro_CheckExact(coroutine))
        return NULL;
#if PY_VERSION_HEX >= 0x030C0000
    PyCodeObject *code = PyGen_GetCode((PyGenObject *)coroutine);
    Py_XDECREF(code); // the coroutine keeps it
    return code;
#else
    return ((PyGenObject *)coroutine)->gi_code;
#endif
}

static void write_end(loop_thread *me, PyObject *callback, PyObject *task, uint64_t now,
                      uint64_t duration, uint64_t caused, bool ended)
{
    sonde_task_entry *entry = me->entry;
    bool is_long = duration >= LONG_NS || (caused >= LONG_NS && may_write(now));
    if (is_long)
        entry->noted = 1;
    PyCodeObject *code =
        ended && !entry->noted && me->coroutine ? finished_code(me->coroutine) : NULL;
    sonde_task_entry *group = code ? add_to_group(entry, code, now) : NULL;
    bool group_due = group && (!group->described || now - group->reported >= REPORT_NS);
    bool due = now - entry->reported >= REPORT_NS && (entry->noted || !task);
    bool names = !entry->described && (entry->noted || !task);
    bool loop_due = me->queue && now - me->queue->reported >= REPORT_NS;
    if (!is_long && !due && !names && !loop_due && !group_due && !(ended && !group))
        return;
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread && names) {
        if (task)
            sonde_task_describe(thread, entry, task, me->coroutine);
        else
            sonde_callback_describe(thread, entry, sonde_callback_function(callback));
    }
    if (thread && is_long)
        sonde_task_write_step(thread, entry, me->begin, duration, caused);
    if (thread && group_due && !group->described)
        sonde_group_describe(thread, group, code);
    if (thread && group_due)
        sonde_task_report(thread, group, false);
    if (thread && !group && (ended || due))
        sonde_task_report(thread, entry, ended);
    if (thread && loop_due)
        sonde_queue_report(thread, me->queue, now);
    if (thread)
        sonde_leave(thread);
    errno = saved;
}

static void end(loop_thread *me, PyObject *callback)
{
    PyObject *coroutine = me->coroutine;
    me->stepping = false;
    me->coroutine = NULL;
    sonde_current_task = (sonde_task){0};
    if (generation && me->generation == generation && me->entry) {
        uint64_t now = sonde_now(), duration = now - me->begin, caused = caused_by(me, now);
        sonde_task_entry *entry = me->entry;
        PyObject *task = entry->kind == SONDE_TASK_TASK ? sonde_task_of(callback) : NULL;
        bool ended =
            task && coroutine && sonde_coroutine_state_of(coroutine) == SONDE_COROUTINE_FINISHED;
        entry->stepping = false;
        entry->steps++;
        entry->running += duration;
        entry->caused += caused;
        entry->last_end = now;
        me->coroutine = coroutine;
        write_end(me, callback, task, now, duration, caused, ended);
        me->coroutine = NULL;
        if (me->queue) {
            me->queue->stepping = false;
            if (ended)
                forget_recent(me->queue, entry);
            else if (duration >= RECENT_NS)
                remember_recent(me->queue, entry, me->begin, now);
        }
        if (ended)
            sonde_task_remove(entry);
    }
    me->entry = NULL;
    Py_XDECREF(coroutine);
}

void sonde_step_end(PyObject *callback) { end(&mine, callback); }

bool sonde_step_begin_taken(void)
{
    if (!generation || mine.generation != generation || !mine.handle || mine.stepping)
        return false;
    PyObject *handle = mine.handle;
    PyObject *callback = is_captured() ? sonde_uvloop_callback(handle) : NULL;
    mine.handle = NULL;
    if (!callback || !begin(&mine, callback, sonde_task_of(callback), NULL))
        return false;
    Py_INCREF(callback);
    mine.callback = callback;
    return true;
}

void sonde_step_end_taken(void)
{
    PyObject *callback = mine.callback;
    if (!callback || !mine.stepping)
        return;
    mine.callback = NULL;
    end(&mine, callback);
    Py_DECREF(callback);
}

// ---- sessions

void sonde_steps_start(void)
{
    sonde_tasks_clear();
    sonde_queues_clear();
    sonde_asyncio_forget();
    records_left = MAX_BURST;
    started = records_at = sonde_now();
    generation = ++last_generation ? last_generation : ++last_generation;
    sonde_asyncio_find();
}

static void report_entry(sonde_task_entry *entry, void *thread)
{
    if (entry->described)
        sonde_task_report(thread, entry, false);
}

void sonde_steps_report(void)
{
    if (!generation)
        return;
    sonde_thread *notes = sonde_notes_borrow(); // the caller may be no thread of the program
    if (!notes)
        return;
    sonde_tasks_each(report_entry, notes);
    sonde_queues_report(notes, sonde_now());
    sonde_notes_leave();
}

void sonde_steps_stop(void)
{
    sonde_steps_report();
    generation = 0;
}

void sonde_steps_abandon(void) { generation = 0; }

void sonde_steps_forked(void)
{
    if (!generation)
        return;
    sonde_tasks_clear();
    sonde_queues_clear();
    started = sonde_now();
    generation = ++last_generation ? last_generation : ++last_generation;
}
