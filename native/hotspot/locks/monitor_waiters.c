#include "hotspot/locks/monitor_waiters.h"

#include "core/signals/fault_guard.h"

#include <stddef.h>

// ObjectWaiter (objectMonitor.hpp), in words: the next and the previous one, its thread. Then up to
// 23 who notified it, its event, and whether it was notified and its state, 32 bits each; from 24
// on the virtual thread, the monitor, who notified it, and the two in one byte each. What is not
// laid out so is left alone.
enum { THREAD = 2, NOTIFIER_17 = 3, EVENT_17 = 4, STATE_17 = 5, NOTIFIER_24 = 5, STATE_24 = 6 };
#define WAITS ((uint64_t)3 << 32) // and was not notified
#define MASK_24 0x0000ffff00000000u

// It lies in the frame of ObjectMonitor::wait, not far from what that calls to sleep.
#define MAX_WORDS 160

SONDE_FOREIGN static bool waits_17(const uint64_t *node)
{
    return node[STATE_17] == WAITS && !node[NOTIFIER_17] && node[EVENT_17] && !(node[EVENT_17] & 7);
}

SONDE_FOREIGN static bool waits_24(const uint64_t *node)
{
    return (node[STATE_24] & MASK_24) == WAITS && !node[NOTIFIER_24];
}

typedef struct {
    const uint64_t *from;
    sonde_condition_waiter *to;
} find_job;

SONDE_FOREIGN static void find_body(void *arg)
{
    find_job *job = arg;
    for (const uint64_t *node = job->from; node < job->from + MAX_WORDS; node++) {
        if (node[THREAD] != (uint64_t)(uintptr_t)job->to->thread || !node[0] || node[0] & 7 ||
            !node[1] || node[1] & 7)
            continue;
        bool since_24 = waits_24(node);
        if (waits_17(node) || since_24) {
            job->to->node = node;
            job->to->since_24 = since_24;
            return;
        }
    }
}

bool sonde_monitor_waiter(sonde_condition_waiter *waiter, const void *record, const void *frame)
{
    find_job job = {frame, waiter};
    waiter->thread = record;
    waiter->node = NULL;
    return sonde_guard_run_unchecked(find_body, &job) && waiter->node;
}

typedef struct {
    const sonde_condition_waiter *waiter;
    bool notified;
} look_job;

// Of another thread, which may be awake by now and have its stack used for something else.
SONDE_FOREIGN static void look_body(void *arg)
{
    look_job *job = arg;
    const uint64_t *node = job->waiter->node;
    if (node[THREAD] == (uint64_t)(uintptr_t)job->waiter->thread)
        job->notified = !(job->waiter->since_24 ? waits_24(node) : waits_17(node));
}

bool sonde_monitor_was_notified(const sonde_condition_waiter *waiter, void *arg)
{
    (void)arg;
    look_job job = {waiter, false};
    return sonde_guard_run_unchecked(look_body, &job) && job.notified;
}
