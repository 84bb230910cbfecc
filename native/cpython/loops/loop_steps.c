#define _GNU_SOURCE
#include "cpython/loops/loop_steps.h"

#include "core/base/clock.h"
#include "core/session/current_task.h"
#include "core/session/session.h"
#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/coroutine.h"
#include "cpython/loops/ready_queue.h"
#include "cpython/loops/resumptions.h"
#include "cpython/loops/task_entries.h"
#include "cpython/loops/task_records.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// Steps and waits of at least this length have records of their own.
#define LONG_NS 1000000u
// Steps that others waited for in vain are kept for timers, which may have been due in them.
#define RECENT_NS 100000u
// So many callbacks of uvloop taken in a row, and none called, as far as we saw.
#define MAX_UNCALLED 100u
#define REPORT_NS 250000000u
#define LAG_NS 100000000u // and how late the loop was
// Records a second of waits, and of short steps that many waited for; more in a burst. As many are
// written of what resumed tasks and what awaits them.
#define RECORDS_PER_MS 1u
#define MAX_BURST 2000u

static uint32_t generation; // of the hooks; 0: they are not in place
static uint32_t last_generation;
static uint64_t started;

typedef struct { // records that may be written, and when that was reckoned
    uint64_t left, at;
} record_budget;
static record_budget waits, resumptions;

typedef struct {
    uint32_t generation;
    bool stepping, taken;
    sonde_queue *queue;
    sonde_readiness woken;
    PyObject *handle;    // taken, and not called yet
    PyObject *callback;  // of a step that C code calls
    PyObject *coroutine; // of the task that takes a step; a reference of ours
    PyObject *task;      // the same task; its callback keeps it
    sonde_task_entry *entry;
    uint64_t begin, waiting; // callbacks that were ready when the step began
    uint64_t passed_on;      // when it last made something of another thread's loop ready
} loop_thread;

static uint32_t uncalled; // by uvloop

static _Thread_local loop_thread mine __attribute__((tls_model("initial-exec")));

static bool may_write(record_budget *budget, uint64_t now)
{
    uint64_t passed = (now - budget->at) / 1000000u;
    if (passed) {
        budget->at = now;
        budget->left += passed * RECORDS_PER_MS;
        budget->left = budget->left < MAX_BURST ? budget->left : MAX_BURST;
    }
    if (!budget->left)
        return false;
    budget->left--;
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

// ---- what resumes tasks, and what awaits them

// `awaiter` was found to await the task of the entry.
static void note_awaiter(sonde_task_entry *entry, PyObject *awaiter, uint64_t now)
{
    PyObject *coroutine = sonde_task_coroutine(awaiter);
    sonde_task_entry *other =
        sonde_task_entry_of(awaiter, coroutine, &(sonde_readiness){0}, started, now);
    if (!other || other == entry || other->stepping ||
        (entry->awaiter == other->id && entry->awaiter_since == other->last_end))
        return;
    entry->awaiter = other->id;
    entry->awaiter_since = other->last_end;
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        other->noted = entry->noted = 1;
        if (!other->described)
            sonde_task_describe(thread, other, awaiter, coroutine);
        sonde_task_write_awaiter(thread, entry, other, coroutine, now);
        sonde_leave(thread);
    }
    errno = saved;
}

// A task that others may await begins a step.
static void look_for_awaiter(sonde_task_entry *entry, PyObject *task, uint64_t now)
{
    if (!entry->noted || now - entry->awaiter_sought < REPORT_NS || !may_write(&resumptions, now))
        return;
    entry->awaiter_sought = now;
    PyObject *awaiter = sonde_awaiter_of(task);
    if (awaiter)
        note_awaiter(entry, awaiter, now);
}

// A handle was made ready: it resumes a task that was suspended for long, or it is what the task
// that now ends leaves to those who await it.
static void look_at_handle(loop_thread *me, PyObject *handle, const sonde_readiness *woken,
                           bool passes, uint64_t now)
{
    PyObject *arguments, *callback = sonde_handle_callback(handle, &arguments);
    if (!callback)
        return;
    bool from_thread = woken->why == SONDE_WOKEN_THREAD;
    PyObject *task = sonde_task_of(callback);
    PyObject *future =
        arguments && PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    if (me->stepping && future && future == me->task && !me->entry->awaiter &&
        (me->entry->noted || now - me->begin >= LONG_NS) && may_write(&resumptions, now)) {
        PyObject *awaiter = task ? task : sonde_awaiter_behind(callback, future);
        if (awaiter)
            note_awaiter(me->entry, awaiter, now);
    }
    if (!task && from_thread && !passes)
        task = sonde_resumed_by(callback, future);
    uint64_t since = me->passed_on;
    if (from_thread && !passes)
        me->passed_on = now;
    sonde_task_entry *entry = task ? sonde_task_find(task) : NULL;
    if (!entry || entry->stepping || !entry->last_end || now - entry->last_end < LONG_NS ||
        entry->resumed > entry->last_end || !may_write(&resumptions, now))
        return;
    entry->resumed = now;
    entry->noted = 1;
    if (me->stepping && me->entry)
        me->entry->noted = 1;
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        sonde_task_write_resumption(thread, entry, woken, now, from_thread ? since : 0);
        sonde_leave(thread);
    }
    errno = saved;
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
    bool passes = false;
    if (me->stepping && !me->queue) // it took its first step before we knew the loop
        me->queue = queue;
    if (me->stepping && me->queue == queue) {
        // A callback passes on what called it: of a timer, say, or of a socket.
        passes = me->entry && me->entry->kind == SONDE_TASK_CALLBACK && me->woken.why;
        entry.why = passes ? me->woken.why : SONDE_WOKEN_STEP;
        entry.waker = passes ? me->woken.waker : entry.waker;
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
    if (entry.why == SONDE_WOKEN_STEP || entry.why == SONDE_WOKEN_THREAD)
        look_at_handle(me, handle, &entry, passes, now);
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
    queue->runtime = SONDE_LOOP_ASYNCIO;
    if (sonde_is_uvloop_handle(handle)) {
        queue->runtime = SONDE_LOOP_UVLOOP;
        uncalled += sonde_uvloop_callback(handle) != NULL;
    }
    if (!queue->tid)
        queue->tid = (uint32_t)syscall(SYS_gettid);
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
    return sonde_task_entry_of(task, *coroutine, &me->woken, started, now);
}

static void write_wait(loop_thread *me, sonde_task_entry *entry, PyObject *coroutine, uint64_t now,
                       uint64_t ready, uint64_t suspended)
{
    if ((ready < LONG_NS && suspended < LONG_NS) || !may_write(&waits, now))
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
    sonde_task_entry *entry = task ? sonde_task_entry_of(task, coroutine, &me->woken, started, now)
                                   : sonde_callback_entry_of(callback, now);
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
    me->task = task;
    me->coroutine = coroutine;
    Py_XINCREF(coroutine);
    if (queue) {
        me->waiting = queue->deque ? (uint64_t)queue->count : 0;
        queue->stepping = true;
        queue->added = queue->added_times = 0;
        queue->used = now;
    }
    if (task)
        look_for_awaiter(entry, task, now);
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

static void write_end(loop_thread *me, PyObject *callback, PyObject *task, uint64_t now,
                      uint64_t duration, uint64_t caused, bool ended)
{
    sonde_task_entry *entry = me->entry;
    bool is_long = duration >= LONG_NS || (caused >= LONG_NS && may_write(&waits, now));
    if (is_long)
        entry->noted = 1;
    PyCodeObject *code =
        ended && !entry->noted && me->coroutine ? sonde_finished_code(me->coroutine) : NULL;
    sonde_task_entry *group = code ? sonde_group_add(entry, code, now) : NULL;
    bool group_due = group && (!group->described || now - group->reported >= REPORT_NS);
    bool due = now - entry->reported >= REPORT_NS && (entry->noted || !task);
    bool names = !entry->described && (entry->noted || !task);
    bool loop_due = me->queue && now - me->queue->reported >= LAG_NS;
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
    me->coroutine = me->task = NULL;
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
    uncalled = 0;
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
    uncalled = 0;
    started = sonde_now();
    waits = resumptions = (record_budget){MAX_BURST, started};
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
    if (uncalled >= MAX_UNCALLED || sonde_uvloop_is_unknown())
        atomic_store(&sonde.header->tasks, SONDE_TASKS_UNKNOWN_UVLOOP);
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
