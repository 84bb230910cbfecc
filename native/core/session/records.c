#include "core/session/records.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/session/caller_chain.h"
#include "core/session/current_task.h"
#include "core/session/stack_delta.h"

#include <string.h>

// NULL, and one more lost, if there is no room: the previous stack stays the one that the recorder
// knows.
static inline void *reserve(sonde_thread *thread, size_t size, uint64_t *lost)
{
    void *out = sonde_ring_reserve(&thread->ring, size);
    if (!out) {
        ++*lost;
        sonde_stack_lost(thread);
    }
    return out;
}

static inline uint8_t flags_of(uint8_t flags, const sonde_stack_delta *delta)
{
    return delta->detached ? flags | SONDE_DETACHED : flags;
}

// States the task of the records that follow, if it is another one than of those before. Where this
// finds no room, neither does the longer record after it.
static inline void state_task(sonde_thread *thread)
{
    const sonde_task *now = &sonde_current_task;
    if (now->noted)
        atomic_store_explicit(now->noted, 1, memory_order_relaxed);
    if (thread->task == now->id)
        return;
    sonde_rec_task *out = sonde_ring_reserve(&thread->ring, sizeof *out);
    if (!out)
        return;
    *out = (sonde_rec_task){.rec = {sizeof *out, SONDE_REC_TASK, 0, 0}, .id = now->id};
    sonde_ring_commit(&thread->ring, sizeof *out);
    thread->task = now->id;
}

void sonde_write_task(sonde_thread *thread) { state_task(thread); }

SONDE_HOT void sonde_write_stack(sonde_thread *thread, uint32_t depth, const sonde_event *event)
{
    sonde_slot *slot = thread->slot;
    bool chained = event->flags & SONDE_CHAINED;
    if (!event->tid)
        state_task(thread);
    sonde_stack_delta delta = chained ? (sonde_stack_delta){0, depth, false}
                                      : sonde_stack_compute_delta(thread, depth, event->flags);
    size_t size = sizeof(sonde_rec_sample) + delta.count * sizeof(uint64_t);
    // A sample that is lost has its activations marked all the same.
    if ((event->flags & SONDE_ACTIVATIONS) && event->same < thread->same)
        thread->same = event->same;
    sonde_rec_sample *out = reserve(thread, size, &slot->lost);
    if (!out)
        return;
    *out = (sonde_rec_sample){
        .rec = {(uint32_t)size, event->tid ? SONDE_REC_OPEN_WAIT : SONDE_REC_SAMPLE, event->state,
                flags_of(event->flags, &delta)},
        .time = event->time,
        .cpu = event->cpu,
        .keep = delta.keep,
        .count = delta.count,
        .interpreter = event->interpreter,
        .thread_object = event->thread_object,
        .span = event->span,
        .same = event->flags & SONDE_ACTIVATIONS ? thread->same : 0,
    };
    if (event->tid)
        out->tid = event->tid;
    else
        out->processor = event->processor;
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_ring_commit(&thread->ring, size);
    if (event->flags & SONDE_ACTIVATIONS)
        thread->same = delta.keep + delta.count;
    if (chained)
        sonde_chain_add(sonde_stack(thread), depth);
    else
        sonde_stack_written(thread, &delta);
    slot->taken++;
    if (event->flags & SONDE_UNDECODABLE)
        slot->undecodable++;
    if (event->flags & SONDE_TRUNCATED)
        slot->truncated++;
}

sonde_rec_lock *sonde_draft_lock(sonde_thread *thread, uint32_t depth,
                                 const sonde_lock_event *event)
{
    if (sonde_lock_has_stack(event->type))
        state_task(thread);
    sonde_stack_delta delta = sonde_lock_has_stack(event->type)
                                  ? sonde_stack_compute_delta(thread, depth, event->flags)
                                  : (sonde_stack_delta){0};
    size_t size = sizeof(sonde_rec_lock) + delta.count * sizeof(uint64_t);
    sonde_rec_lock *out = reserve(thread, size, &thread->slot->events_lost);
    if (!out)
        return NULL;
    *out = (sonde_rec_lock){
        .rec = {(uint32_t)size, SONDE_REC_LOCK, event->type, flags_of(event->flags, &delta)},
        .time = event->time,
        .lock = event->lock,
        .sequence = event->sequence,
        .started = event->started,
        .started_sequence = event->started_sequence,
        .keep = delta.keep,
        .count = delta.count,
        .interpreter = event->interpreter,
        .kind = (uint16_t)event->kind,
        .holder = event->holder,
        .span = event->span,
    };
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    thread->draft = delta;
    return out;
}

void sonde_commit_lock(sonde_thread *thread, uint8_t type)
{
    sonde_stack_delta delta = thread->draft;
    if (sonde_lock_has_stack(type))
        sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, sizeof(sonde_rec_lock) + delta.count * sizeof(uint64_t));
    thread->slot->lock_events++;
}

void sonde_write_lock(sonde_thread *thread, uint32_t depth, const sonde_lock_event *event)
{
    if (sonde_draft_lock(thread, depth, event))
        sonde_commit_lock(thread, event->type);
}

bool sonde_write_object(sonde_thread *thread, uint32_t depth, const sonde_rec_object *object)
{
    sonde_stack_delta delta = sonde_stack_compute_delta(thread, depth, object->rec.flags);
    size_t size = sizeof *object + delta.count * sizeof(uint64_t);
    sonde_rec_object *out = reserve(thread, size, &thread->slot->events_lost);
    atomic_fetch_add_explicit(out ? &sonde.header->objects_taken : &sonde.header->objects_lost, 1,
                              memory_order_relaxed);
    if (!out)
        return false;
    *out = *object;
    out->rec.size = (uint32_t)size;
    out->rec.kind = SONDE_REC_OBJECT;
    out->rec.flags = flags_of(object->rec.flags, &delta);
    out->keep = delta.keep;
    out->count = delta.count;
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, size);
    return true;
}

bool sonde_write_object_type(sonde_thread *thread, uint64_t id, uint64_t type, uint64_t address,
                             uint8_t kind)
{
    size_t size = sizeof(sonde_rec_object_type);
    sonde_rec_object_type *out = sonde_ring_reserve(&thread->ring, size);
    if (!out)
        return false;
    *out = (sonde_rec_object_type){.rec = {(uint32_t)size, SONDE_REC_OBJECT_TYPE, kind, 0},
                                   .id = id,
                                   .type = type,
                                   .address = address};
    sonde_ring_commit(&thread->ring, size);
    return true;
}

bool sonde_write_object_end(sonde_thread *thread, uint64_t time, uint64_t id)
{
    size_t size = sizeof(sonde_rec_object_end);
    sonde_rec_object_end *out = sonde_ring_reserve(&thread->ring, size);
    if (!out)
        return false;
    *out = (sonde_rec_object_end){
        .rec = {(uint32_t)size, SONDE_REC_OBJECT_END, 0, 0}, .time = time, .id = id};
    sonde_ring_commit(&thread->ring, size);
    return true;
}

bool sonde_write_object_share(sonde_thread *thread, uint64_t time, uint64_t open_ns,
                              uint64_t cpu_ns)
{
    size_t size = sizeof(sonde_rec_object_share);
    sonde_rec_object_share *out = sonde_ring_reserve(&thread->ring, size);
    if (!out)
        return false;
    *out = (sonde_rec_object_share){.rec = {(uint32_t)size, SONDE_REC_OBJECT_SHARE, 0, 0},
                                    .time = time,
                                    .open_ns = open_ns,
                                    .cpu_ns = cpu_ns};
    sonde_ring_commit(&thread->ring, size);
    return true;
}

void sonde_object_end_lost(void)
{
    atomic_fetch_add_explicit(&sonde.header->object_ends_lost, 1, memory_order_relaxed);
}

void sonde_object_time_spent(sonde_thread *thread, uint64_t since_cpu_ns)
{
    uint64_t spent = sonde_thread_cpu() - since_cpu_ns + sonde.cpu_read_ns;
    thread->slot->agent_ns += spent;
    atomic_fetch_add_explicit(&sonde.header->object_agent_ns, spent, memory_order_relaxed);
}

SONDE_HOT void sonde_write_call(sonde_thread *thread, uint32_t depth, uint8_t flags,
                                uint64_t offset_ns)
{
    sonde_stack_delta delta = sonde_stack_compute_delta(thread, depth, flags);
    size_t size = sizeof(sonde_rec_call) + delta.count * sizeof(uint64_t);
    sonde_rec_call *out = reserve(thread, size, &thread->slot->calls_lost);
    if (!out)
        return;
    uint32_t whole = delta.keep + delta.count;
    uint8_t step = thread->window.step < UINT8_MAX ? (uint8_t)thread->window.step : UINT8_MAX;
    uint64_t caller = depth > 1   ? sonde_stack(thread)[1]
                      : whole > 1 ? thread->last_stack[whole - 2]
                                  : 0;
    *out = (sonde_rec_call){.rec = {(uint32_t)size, SONDE_REC_CALL, step, flags_of(flags, &delta)},
                            .window = thread->window.number,
                            .site = caller & SONDE_INSTR_MASK,
                            .keep = delta.keep,
                            .count = delta.count,
                            .offset_ns = offset_ns};
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, size);
    sonde_ring_expect(&thread->ring); // the next call of the window comes soon
    thread->slot->calls++;
}

void sonde_write_event(sonde_thread *thread, uint32_t depth, const sonde_rec_event *event)
{
    bool chained = event->rec.flags & SONDE_CHAINED;
    sonde_stack_delta delta = chained ? (sonde_stack_delta){0, depth, false}
                                      : sonde_stack_compute_delta(thread, depth, event->rec.flags);
    size_t size = sizeof *event + delta.count * sizeof(uint64_t);
    sonde_rec_event *out = reserve(thread, size, &thread->slot->events_lost);
    if (!out)
        return;
    *out = *event;
    out->rec.size = (uint32_t)size;
    out->rec.kind = SONDE_REC_EVENT;
    out->rec.flags = flags_of(event->rec.flags, &delta);
    out->keep = delta.keep;
    out->count = delta.count;
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_ring_commit(&thread->ring, size);
    if (chained)
        sonde_chain_add(sonde_stack(thread), depth);
    else
        sonde_stack_written(thread, &delta);
}

bool sonde_write_probe(sonde_thread *thread, uint32_t depth, const sonde_rec_probe *value)
{
    uint64_t lost = 0; // counted by the probe
    sonde_stack_delta delta = sonde_stack_compute_delta(thread, depth, value->rec.flags);
    size_t size = sizeof *value + delta.count * sizeof(uint64_t);
    sonde_rec_probe *out = reserve(thread, size, &lost);
    if (!out)
        return false;
    *out = *value;
    out->rec.size = (uint32_t)size;
    out->rec.kind = SONDE_REC_PROBE;
    out->rec.flags = flags_of(value->rec.flags, &delta);
    out->keep = delta.keep;
    out->count = delta.count;
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, size);
    return true;
}

bool sonde_write_lock_sample(sonde_thread *thread, uint32_t depth,
                             const sonde_rec_lock_sample *sample)
{
    sonde_stack_delta delta = sonde_stack_compute_delta(thread, depth, sample->rec.flags);
    size_t size = sizeof *sample + delta.count * sizeof(uint64_t);
    sonde_rec_lock_sample *out = reserve(thread, size, &thread->slot->events_lost);
    if (!out)
        return false;
    *out = *sample;
    out->rec.size = (uint32_t)size;
    out->rec.kind = SONDE_REC_LOCK_SAMPLE;
    out->rec.flags = flags_of(sample->rec.flags, &delta);
    out->keep = delta.keep;
    out->count = delta.count;
    memcpy(out->frames, sonde_stack(thread), delta.count * sizeof(uint64_t));
    sonde_stack_written(thread, &delta);
    sonde_ring_commit(&thread->ring, size);
    return true;
}

bool sonde_write_lock_hold_end(sonde_thread *thread, uint64_t id, uint64_t hold_ns)
{
    size_t size = sizeof(sonde_rec_lock_hold_end);
    sonde_rec_lock_hold_end *out = sonde_ring_reserve(&thread->ring, size);
    if (!out) {
        thread->slot->events_lost++;
        return false;
    }
    *out = (sonde_rec_lock_hold_end){
        .rec = {(uint32_t)size, SONDE_REC_LOCK_HOLD_END, 0, 0}, .id = id, .hold_ns = hold_ns};
    sonde_ring_commit(&thread->ring, size);
    return true;
}
