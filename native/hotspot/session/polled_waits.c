#define _GNU_SOURCE
#include "hotspot/session/polled_waits.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/hooks/spans.h"
#include "core/session/records.h"
#include "hotspot/names/methods.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_WATCHED SONDE_MAX_SLOTS
// How often CPU clocks are read, and how often Java is asked which threads there are.
#define POLL_NS 20000000u
#define LIST_NS 100000000u
// A wait that continues is looked at again after an eighth of what it has lasted: its end is known
// to so much if the process ends in it.
#define SOON_NS 50000000u
#define LATE_NS 1000000000u

typedef struct {
    uint32_t tid;
    uint32_t listed; // number of the listing in which the thread was last seen
    uint64_t cpu;    // at the last poll
    uint64_t since;  // when it was first seen off CPU
    uint64_t due;    // when its stack is asked for; 0: it runs
} watched;

static watched table[MAX_WATCHED];
static uint32_t watched_count, listing;

static void wake(void);
static void *body(void *unused);
// HotSpot puts its guard pages into the stack while the thread is attached.
static _Alignas(4096) char stack[1 << 20];
static sonde_worker worker = {
    .name = "sonde-waits", .body = body, .wake = wake, .stack = stack, .stack_size = sizeof stack};

static uint64_t cpu_of(uint32_t tid) { return sonde_clock(sonde_cpu_clock_of((pid_t)tid)); }

static watched *find(uint32_t tid)
{
    for (uint32_t i = 0; i < watched_count; i++)
        if (table[i].tid == tid)
            return &table[i];
    if (watched_count == MAX_WATCHED)
        return NULL;
    table[watched_count] = (watched){.tid = tid};
    return &table[watched_count++];
}

// Whether a thread's stack is to be asked for.
static bool poll(uint64_t now)
{
    bool any = false;
    for (uint32_t i = 0; i < watched_count; i++) {
        watched *w = &table[i];
        uint64_t cpu = cpu_of(w->tid);
        if (!cpu || cpu != w->cpu)
            w->due = 0;
        else if (!w->due)
            w->since = w->due = now;
        w->cpu = cpu;
        any |= w->due && w->due <= now;
    }
    return any;
}

static void write_wait(JNIEnv *env, jthread java_thread, watched *w)
{
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    jint state = 0;
    // Not one that is runnable.
    if ((*jvmti)->GetThreadState(jvmti, java_thread, &state) ||
        ((state & JVMTI_THREAD_STATE_RUNNABLE) && !(state & JVMTI_THREAD_STATE_IN_NATIVE)))
        return;
    sonde_thread *notes = sonde_notes_enter();
    if (!notes)
        return; // it is still due at the next poll
    sonde_event event = {0};
    sonde_stack_of(notes, jvmti, java_thread, &event);
    // Its methods are described in the same ring, and have to be there before.
    sonde_notes_leave();
    sonde_methods_describe(env);
    if (!(notes = sonde_notes_enter()))
        return;
    event = (sonde_event){.state = SONDE_WAITING, .tid = w->tid, .cpu = w->cpu};
    event.span = sonde_span_of(sonde_span_thread(w->tid), NULL);
    uint32_t depth = sonde_stack_of(notes, jvmti, java_thread, &event);
    event.time = sonde_now();
    // Was it off CPU meanwhile?
    if (cpu_of(w->tid) == w->cpu && !(event.flags & SONDE_UNDECODABLE)) {
        sonde_write_stack(notes, depth, &event);
        uint64_t next = (event.time - w->since) / 8;
        w->due = event.time + (next < SOON_NS ? SOON_NS : next > LATE_NS ? LATE_NS : next);
    }
    sonde_notes_leave();
}

static void look(JNIEnv *env, uint64_t now)
{
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    uint32_t me = (uint32_t)syscall(SYS_gettid);
    jint count = 0;
    jthread *threads = NULL;
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
        return;
    listing++;
    for (jint i = 0; i < count; i++) {
        uint32_t tid = sonde_record_tid(sonde_vm_thread_of(env, threads[i]));
        watched *w = tid && tid != me ? find(tid) : NULL;
        if (w) {
            w->listed = listing;
            if (w->due && w->due <= now)
                write_wait(env, threads[i], w);
        }
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    for (uint32_t i = 0; i < watched_count;)
        if (table[i].listed == listing)
            i++;
        else
            table[i] = table[--watched_count];
}

static void wake(void) { sonde_worker_wake(&worker); }

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t next_list = 0, counted = 0;
    while (!sonde_worker_is_stopping(&worker)) {
        sonde_exit_if_last();
        uint64_t now = sonde_now();
        bool wanted = sonde_what() & SONDE_WHAT_WAITS;
        bool any = wanted && poll(now);
        if (any || (wanted && now >= next_list)) {
            // Attached no longer than that: System.exit waits for a thread that is.
            JNIEnv *env = sonde_vm_attach();
            if (env) {
                look(env, now);
                sonde_vm_detach();
            }
            next_list = now + LIST_NS;
        }
        uint64_t used = sonde_thread_cpu();
        atomic_fetch_add(&sonde.header->reader_cpu_ns, used - counted);
        counted = used;
        sonde_worker_sleep(&worker, POLL_NS);
    }
    return NULL;
}

int sonde_polled_waits_start(void)
{
    watched_count = 0;
    return sonde_worker_start(&worker);
}

void sonde_polled_waits_stop(void) { sonde_worker_stop(&worker); }

void sonde_polled_waits_forked(void) { sonde_worker_forked(&worker); }
