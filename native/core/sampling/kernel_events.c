#define _GNU_SOURCE
#include "core/sampling/kernel_events.h"

#include "core/sampling/self_walk.h"
#include "core/session/records.h"
#include "core/signals/fault_guard.h"

#include <pthread.h>
#include <sys/resource.h>

static sonde_find_data *find_data;

void sonde_events_install(sonde_find_data *find) { find_data = find; }

// An event that the delivery of our own signal causes in the kernel would come again and again, and
// its thread would make no progress: the recorder is asked to close it. A loop that does nothing
// else looks the same in each iteration, so it takes many of them to decide: some tenths of a
// second.
#define ENDLESS 100000

static void read_use(uint64_t used[5])
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return;
    used[SONDE_MEASURE_MINOR_FAULTS] = (uint64_t)usage.ru_minflt;
    used[SONDE_MEASURE_MAJOR_FAULTS] = (uint64_t)usage.ru_majflt;
    used[SONDE_MEASURE_FAULTS] = (uint64_t)(usage.ru_minflt + usage.ru_majflt);
    used[SONDE_MEASURE_SWITCHES] = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

// How many events it stands for; 0: a period's worth. False if there were none but in our own
// handlers, which touch memory too.
static bool weigh(sonde_thread *thread, uint32_t which, uint8_t measure, uint64_t *weight)
{
    *weight = 0;
    if (measure == SONDE_MEASURE_PERIOD || measure > SONDE_MEASURE_SWITCHES)
        return true;
    if (!thread->counts_use)
        read_use(thread->entry);
    if (!thread->measures[which]) { // from now on
        thread->measures[which] = measure;
        thread->counts_use = true;
        thread->used[which] = thread->entry[measure];
        return true;
    }
    *weight = thread->entry[measure] - thread->used[which];
    thread->used[which] = thread->entry[measure];
    return *weight;
}

typedef struct {
    sonde_thread *thread;
    sonde_data found;
} find_job;

static void find_body(void *arg)
{
    find_job *job = arg;
    find_data(job->thread, job->thread->touched, &job->found);
}

// A page is touched for the first time when an object in it is allocated: its type can only be read
// afterwards. So it is read when this thread is next interrupted.
static void write_touched_data(sonde_thread *thread)
{
    find_job job = {thread, {0}};
    bool whole = sonde_guard_works_here() && sonde_guard_run(find_body, &job);
    thread->touched = 0;
    if (!whole || !job.found.memory)
        return;
    sonde_rec_data *out = sonde_ring_reserve(&thread->ring, sizeof *out);
    if (!out)
        return;
    *out = (sonde_rec_data){.rec = {sizeof *out, SONDE_REC_DATA, job.found.memory, 0},
                            .type = job.found.type,
                            .offset = job.found.offset};
    sonde_ring_commit(&thread->ring, sizeof *out);
}

void sonde_events_entered(sonde_thread *thread)
{
    if (thread->counts_use)
        read_use(thread->entry);
    if (thread->touched)
        write_touched_data(thread);
}

void sonde_events_left(sonde_thread *thread)
{
    if (!thread->counts_use)
        return;
    uint64_t now[5] = {0};
    read_use(now);
    for (uint32_t i = 0; i < SONDE_MAX_EVENTS; i++) // what the agent itself did does not count
        thread->used[i] += now[thread->measures[i]] - thread->entry[thread->measures[i]];
}

// glibc puts a thread's control block, which pthread_self is, at the upper end of its stack; the
// main thread's has a name in the list of maps, which the recorder reads.
static bool on_stack(uint64_t address, const ucontext_t *context)
{
    uint64_t sp = (uint64_t)sonde_context_sp(context), end = (uint64_t)pthread_self();
    const uint64_t below = 256; // the red zone, and a call's return address
    return address + below >= sp && address < end && end - sp < (uint64_t)1 << 30;
}

static void write_event(sonde_thread *thread, const ucontext_t *context, uint32_t which,
                        uint64_t weight, const sonde_event_signal *by)
{
    sonde_event event = {.time = by->time, .chained = sonde_what() & SONDE_WHAT_CHAINED};
    uint32_t depth = 0;
    if (by->stale)
        event.flags = SONDE_UNDECODABLE;
    else
        depth = sonde_self_walk(thread, context, &event);
    sonde_write_event(thread, depth,
                      &(sonde_rec_event){.rec = {.state = (uint8_t)which, .flags = event.flags},
                                         .time = by->time,
                                         .weight = weight,
                                         .address = by->address,
                                         .interpreter = event.interpreter,
                                         .span = event.span});
}

void sonde_on_event(sonde_thread *thread, const ucontext_t *context, const sonde_event_signal *by)
{
    uint32_t which = (uint32_t)(by->sig_data >> SONDE_SIG_WHICH_SHIFT) % SONDE_MAX_EVENTS;
    uint64_t registers = sonde_context_hash(context);
    if (registers != thread->registers) {
        thread->registers = registers;
        thread->repeats = 0;
    } else if (++thread->repeats > ENDLESS)
        atomic_fetch_or(&sonde.header->endless, 1u << which);
    uint8_t measure = by->sig_data >> SONDE_SIG_MEASURE_SHIFT & SONDE_SIG_MEASURE;
    uint64_t weight;
    if (!weigh(thread, which, measure, &weight))
        return;
    write_event(thread, context, which, weight, by);
    if (!by->address || by->stale)
        return;
    if (on_stack(by->address, context)) {
        sonde_rec_data *out = sonde_ring_reserve(&thread->ring, sizeof *out);
        if (out) {
            *out = (sonde_rec_data){.rec = {sizeof *out, SONDE_REC_DATA, SONDE_MEMORY_STACK, 0}};
            sonde_ring_commit(&thread->ring, sizeof *out);
        }
    } else if (find_data) {
        thread->touched = by->address;
    }
}

void sonde_events_missed(sonde_thread *thread, const ucontext_t *context, uint64_t now)
{
    if (!thread->counts_use)
        return;
    for (uint32_t which = 0; which < SONDE_MAX_EVENTS; which++) {
        uint8_t measure = thread->measures[which];
        uint64_t period =
            atomic_load_explicit(&sonde.header->event_periods[which], memory_order_relaxed);
        uint64_t count = thread->entry[measure] - thread->used[which];
        if (!measure || !period || count < period)
            continue;
        thread->used[which] = thread->entry[measure];
        write_event(thread, context, which, count, &(sonde_event_signal){.time = now});
    }
}
