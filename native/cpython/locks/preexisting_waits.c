#define _GNU_SOURCE
#include "cpython/locks/preexisting_waits.h"

#include "core/base/clock.h"
#include "core/hooks/preexisting_table.h"
#include "core/hooks/waiter_table.h"
#include "core/session/records.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"
#include "cpython/locks/lock_events.h"
#include "cpython/walk/thread_list.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS 512

static uint64_t next_number(char **at)
{
    while (**at == ' ')
        ++*at;
    return strtoull(*at, at, 0);
}

// The address a thread sleeps on, and its stack; false if it does anything else.
static bool asleep_on(uint32_t tid, uint64_t *word, uint64_t *sp)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0 || text[0] < '0' || text[0] > '9') // "running"
        return false;
    text[n] = 0;
    char *at = text;
    uint64_t number = next_number(&at);
    *word = next_number(&at);
    uint64_t operation = next_number(&at);
    for (int argument = 2; argument < 6; argument++)
        next_number(&at);
    *sp = next_number(&at);
    return number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

typedef struct {
    sonde_thread *thread;
    PyThreadState *state;
    uint64_t word, sp, lock;
    uint32_t kind, depth;
    sonde_event event;
} find_job;

static void find_body(void *arg)
{
    find_job *job = arg;
    // A semaphore of value 0 that a thread waits for (struct new_sem of glibc 2.21 and later). What
    // else threads sleep on looks different: a mutex has its owner here, a condition a count.
    uint64_t value = __atomic_load_n((const uint64_t *)(uintptr_t)job->word, __ATOMIC_RELAXED);
    if ((uint32_t)value != 0 || value >> 32 == 0)
        return;
    job->lock = job->word;
    job->kind = SONDE_KIND_SEMAPHORE;
#if PY_VERSION_HEX >= 0x030D0000
    // Who parks sleeps on a semaphore on its own stack; before it lies what it parks for.
    if (job->word - job->sp < 4096) {
        job->lock = ((const uint64_t *)(uintptr_t)job->word)[-1];
        job->kind = SONDE_KIND_PARKED;
    }
#endif
    job->depth = sonde_cpython_walk_thread(job->thread, job->state, &job->event);
}

static void find_of(sonde_thread_ref *listed, uint64_t since)
{
    find_job job = {.state = listed->state, .event = {.tid = listed->tid}};
    if (!asleep_on(listed->tid, &job.word, &job.sp))
        return;
    // Not into the caller's own ring: it may be a thread that is no part of the recording.
    job.thread = sonde_notes_borrow();
    if (!job.thread)
        return;
    if (!sonde_guard_run(find_body, &job)) {
        job.event.flags = SONDE_UNDECODABLE;
        job.depth = 0;
    }
    if (job.lock) {
        const void *key = (const void *)(uintptr_t)job.word;
        // One that passed our hook, in an earlier session, will report its end itself.
        bool reports_end = sonde_find_waiter(key) != NULL;
        if (!reports_end && sonde_add_preexisting_wait(key))
            sonde_wait_begin(key, job.lock, job.kind);
        sonde_lock_event event = {.lock = job.lock,
                                  .sequence = sonde_lock_sequence(job.lock),
                                  .started = job.event.thread_object,
                                  .started_sequence = reports_end,
                                  .interpreter = job.event.interpreter,
                                  .kind = job.kind,
                                  .holder = listed->tid,
                                  .type = SONDE_LOCK_PREEXISTING,
                                  .flags = job.event.flags};
        sonde_write_lock(job.thread, job.depth, &event);
        sonde_lock_report_owner_as(job.thread, job.kind, job.lock, since);
    }
    sonde_notes_leave();
}

void sonde_find_preexisting_waits(void)
{
    if (!sonde_guard_works_here())
        return;
    // What was found for an earlier session and is not over will be found again.
    sonde_forget_preexisting_waits();
    sonde_thread_ref listed[MAX_THREADS];
    int saved = errno;
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    uint64_t since = sonde_now(); // one scan serves them all
    int n = sonde_threads_here.list(listed, MAX_THREADS);
    for (int i = 0; i < n; i++)
        if (listed[i].tid != self)
            find_of(&listed[i], since);
    errno = saved;
}
