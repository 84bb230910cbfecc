#include "core/sampling/self_walk.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"

static sonde_walk_self *walk_self;

void sonde_self_walk_use(sonde_walk_self *walk) { walk_self = walk; }

typedef struct {
    sonde_thread *thread;
    const ucontext_t *context;
    sonde_event event;
    uint32_t depth;
} walk_job;

SONDE_HOT static void walk_body(void *arg)
{
    walk_job *job = arg;
    job->depth = walk_self(job->thread, job->context, &job->event);
}

// A handler of the program's own over ours is rare, and so is a fault in a walk of one's own
// frames: it is enough to check now and then. Where signals are rare, the check is a good part of
// the overhead of each; so a thread checks at one in so many, and never again before this time has
// passed.
#define ASK_NS 10000000u
#define ASK_EVERY 8

static bool is_guarded(const sonde_thread *thread, uint64_t now)
{
    static _Atomic uint64_t asked; // 0: it was not in place
    uint64_t last = atomic_load_explicit(&asked, memory_order_relaxed);
    if (last && (thread->handled % ASK_EVERY || now - last < ASK_NS))
        return true;
    bool is = sonde_guard_in_place();
    atomic_store_explicit(&asked, is ? now : 0, memory_order_relaxed);
    return is;
}

SONDE_HOT uint32_t sonde_self_walk(sonde_thread *thread, const ucontext_t *context,
                                   sonde_event *event)
{
    walk_job job = {thread, context, *event, 0};
    if (!is_guarded(thread, event->time) || !sonde_guard_run_unchecked(walk_body, &job)) {
        atomic_fetch_add(&sonde.header->faults, 1);
        job.event.flags = SONDE_UNDECODABLE;
        job.depth = 0;
    }
    *event = job.event;
    return job.depth;
}
