#define _GNU_SOURCE
#include "cpython/objects/object_samples.h"

#include "core/base/clock.h"
#include "core/session/records.h"
#include "cpython/frames/frames.h"
#include "cpython/objects/block_types.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BUFFER_NAME "native memory (CPython)"

static _Atomic uint64_t last_id;
static _Atomic uint32_t ends_lost; // that are not counted in the session yet
static _Atomic int window = SONDE_WINDOW_NONE;
static _Atomic uint32_t taken_in_windows;
void sonde_object_set_window(int state) { atomic_store(&window, state); }

uint32_t sonde_object_taken_in_windows(void)
{
    return atomic_load_explicit(&taken_in_windows, memory_order_relaxed);
}

static bool has_windows(void)
{
    return atomic_load_explicit(&window, memory_order_relaxed) != SONDE_WINDOW_NONE;
}

// Hooks of ours may be called in a closed window, by another tool that took hold of them in an open
// one.
static bool window_is_open(void)
{
    return atomic_load_explicit(&window, memory_order_relaxed) != SONDE_WINDOW_CLOSED;
}

// The thread's record, if objects are captured at the moment.
static sonde_thread *enter(void)
{
    sonde_thread *me = sonde_enter();
    if (!me)
        return NULL;
    uint32_t lost = atomic_load_explicit(&ends_lost, memory_order_relaxed);
    if (lost && atomic_compare_exchange_strong(&ends_lost, &lost, 0))
        for (; lost; lost--)
            sonde_object_end_lost();
    return me;
}

static void leave(sonde_thread *me, uint64_t began)
{
    if (!me)
        return;
    sonde_object_time_spent(me, began);
    sonde_leave(me);
}

static void write_type(sonde_thread *me, const void *at, sonde_block *block)
{
    sonde_found_object found;
    bool is_object = sonde_find_object(at, block->size, &found);
    uint64_t type = sonde_report_type_name(me, is_object ? found.type : BUFFER_NAME);
    block->typed =
        sonde_write_object_type(me, block->id, type, is_object ? found.address : (uintptr_t)at,
                                is_object ? SONDE_OBJECT_OBJECT : SONDE_OBJECT_NATIVE);
}

// Another thread may be freeing it, and reports it then.
static void look_at(const void *at)
{
    int saved = errno;
    sonde_thread *me = enter();
    uint64_t began = sonde_thread_cpu();
    sonde_block *block = me ? sonde_block_hold(at) : NULL;
    if (block) {
        if (!block->typed)
            write_type(me, at, block);
        sonde_block_release(at);
    }
    leave(me, began);
    errno = saved;
}

bool sonde_object_due(int which, size_t size)
{
    const void *pending;
    bool due = sonde_countdown_ended(which, size, &pending);
    if (pending)
        look_at(pending);
    return due && atomic_load_explicit(&sonde.generation, memory_order_relaxed) &&
           (which != SONDE_SMALL || window_is_open());
}

static uint64_t report_library(sonde_thread *me, const char *library)
{
    char name[SONDE_TYPE_NAME];
    const char *last = strrchr(library, '/');
    snprintf(name, sizeof name, "native memory (%.200s)", last ? last + 1 : library);
    return sonde_report_type_name(me, name);
}

// What a finalizing interpreter frees was alive in the end.
static void write_end(sonde_thread *me, uint64_t id)
{
    if (interpreter_is_finalizing())
        return;
    if (!sonde_write_object_end(me, sonde_now(), id))
        sonde_object_end_lost();
}

// One whose end was not seen, because something else freed it: at the latest now it has ended.
static void forget_former(sonde_thread *me, const void *at)
{
    sonde_block former;
    if (sonde_may_be_sampled(at) && sonde_block_take(at, &former))
        write_end(me, former.id);
}

static void write_sample(sonde_thread *me, const void *at, size_t size, int which, int by,
                         const char *library)
{
    forget_former(me, at);
    sonde_event stack = {0};
    uint32_t depth = sonde_cpython_walk_guarded(me, &stack);
    sonde_rec_object made = {.rec = {.flags = stack.flags},
                             .time = sonde_now(),
                             .size = size,
                             .every = (uint64_t)sonde_countdown_mean(which),
                             .address = (uintptr_t)at};
    if (which == SONDE_SMALL && has_windows()) {
        made.rec.flags |= SONDE_OBJECT_IN_WINDOW;
        atomic_fetch_add_explicit(&taken_in_windows, 1, memory_order_relaxed);
    }
    sonde_block block = {size, atomic_fetch_add(&last_id, 1) + 1, false};
    bool is_object = by == SONDE_BY_OBJECTS && !library;
    if (!is_object) {
        made.rec.state = SONDE_OBJECT_NATIVE;
        made.type = library ? report_library(me, library) : sonde_report_type_name(me, BUFFER_NAME);
        block.typed = true;
    }
    // Before the record: a block that cannot be followed will not be looked into either.
    if (sonde_block_add(at, &block)) {
        made.id = block.id;
        made.rec.flags |= is_object ? SONDE_OBJECT_TYPE_FOLLOWS : 0;
    }
    if (!sonde_write_object(me, depth, &made)) {
        sonde_block_take(at, &block);
        return;
    }
    if (is_object)
        sonde_countdown_look_early(at);
}

void sonde_object_sampled(const void *at, size_t size, int which, int by, const char *library)
{
    if (!at)
        return;
    int saved = errno;
    sonde_thread *me = enter();
    uint64_t began = sonde_thread_cpu();
    if (me && (sonde_what() & SONDE_WHAT_OBJECTS))
        write_sample(me, at, size, which, by, library);
    leave(me, began);
    errno = saved;
}

static void end(sonde_thread *me, const void *at, sonde_block *block)
{
    if (me && !block->typed && at)
        write_type(me, at, block);
    if (me)
        write_end(me, block->id);
    else if (!interpreter_is_finalizing() &&
             atomic_load_explicit(&sonde.generation, memory_order_relaxed))
        atomic_fetch_add(&ends_lost, 1);
}

void sonde_object_freed(const void *at)
{
    int saved = errno;
    sonde_block block;
    if (sonde_block_take(at, &block)) {
        sonde_thread *me = enter();
        uint64_t began = sonde_thread_cpu();
        end(me, at, &block);
        leave(me, began);
    }
    errno = saved;
}

bool sonde_object_moving(const void *at, sonde_block *block)
{
    if (!sonde_block_take(at, block))
        return false;
    if (block->typed)
        return true;
    int saved = errno;
    sonde_thread *me = enter();
    uint64_t began = sonde_thread_cpu();
    if (me)
        write_type(me, at, block);
    leave(me, began);
    errno = saved;
    return true;
}

void sonde_object_moved(uintptr_t at, sonde_block *block, bool failed)
{
    if (failed) {
        sonde_block_add((const void *)at, block);
        return;
    }
    int saved = errno;
    sonde_thread *me = enter();
    uint64_t began = sonde_thread_cpu();
    end(me, NULL, block);
    leave(me, began);
    errno = saved;
}

static sonde_thread *all_as;

static void look_at_one(const void *at, sonde_block *block)
{
    if (!block->typed)
        write_type(all_as, at, block);
}

void sonde_objects_look_at_all(void)
{
    all_as = enter();
    if (!all_as)
        return;
    sonde_blocks_each(look_at_one);
    sonde_leave(all_as);
}
