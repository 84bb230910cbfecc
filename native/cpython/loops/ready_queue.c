#define _GNU_SOURCE
#include "cpython/loops/ready_queue.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUES 64u
#define ENTRIES (1u << 14)

static sonde_queue queues[QUEUES];
static uint32_t used;
static sonde_readiness *room;

static sonde_queue *unused_longest(void)
{
    sonde_queue *oldest = &queues[0];
    for (uint32_t i = 1; i < QUEUES; i++)
        if (queues[i].used < oldest->used && !queues[i].stepping)
            oldest = &queues[i];
    return oldest;
}

sonde_queue *sonde_queue_of(PyObject *deque, uint64_t now)
{
    for (uint32_t i = 0; i < used; i++)
        if (queues[i].deque == deque)
            return &queues[i];
    if (!room) {
        void *at = mmap(NULL, QUEUES * ENTRIES * sizeof *room, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return NULL;
        room = at;
    }
    sonde_queue *queue = used < QUEUES ? &queues[used++] : unused_longest();
    *queue = (sonde_queue){.deque = deque,
                           .used = now,
                           .reported = now,
                           .entries = room + (size_t)(queue - queues) * ENTRIES};
    return queue;
}

// The deque may have been cleared, or filled while nobody looked.
static void follow(sonde_queue *queue, uint64_t there)
{
    if (queue->count > there) {
        queue->head += (uint32_t)(queue->count - there);
        queue->count = (uint32_t)there;
    }
    while (queue->count < there && queue->count < ENTRIES)
        queue->entries[(queue->head + queue->count++) & (ENTRIES - 1)] = (sonde_readiness){0};
}

void sonde_queue_push(sonde_queue *queue, PyObject *deque, sonde_readiness entry)
{
    uint64_t there = (uint64_t)Py_SIZE(deque);
    follow(queue, there);
    if (there < ENTRIES)
        queue->entries[(queue->head + queue->count++) & (ENTRIES - 1)] = entry;
}

sonde_readiness sonde_queue_pop(sonde_queue *queue, PyObject *deque)
{
    follow(queue, (uint64_t)Py_SIZE(deque) + 1);
    if (!queue->count)
        return (sonde_readiness){0};
    queue->count--;
    return queue->entries[queue->head++ & (ENTRIES - 1)];
}

// ---- how long callbacks waited

static uint32_t bucket_of(uint64_t ns)
{
    if (ns < 4)
        return 0;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(ns);
    uint32_t bucket = log * 4 + (uint32_t)(ns >> (log - 2) & 3);
    return bucket < SONDE_LAG_BUCKETS ? bucket : SONDE_LAG_BUCKETS - 1;
}

void sonde_queue_waited(sonde_queue *queue, uint64_t wait)
{
    queue->steps++;
    queue->waited += wait;
    queue->longest = wait > queue->longest ? wait : queue->longest;
    queue->lags[bucket_of(wait)]++;
}

void sonde_queue_report(sonde_thread *thread, sonde_queue *queue, uint64_t now)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < SONDE_LAG_BUCKETS; i++)
        filled += queue->lags[i] != 0;
    size_t size = sizeof(sonde_rec_loop) + filled * sizeof(sonde_loop_lag);
    sonde_rec_loop *out = queue->steps ? sonde_ring_reserve(&thread->ring, size) : NULL;
    queue->reported = now;
    if (!out)
        return; // the next record has these, too
    *out = (sonde_rec_loop){.rec = {(uint32_t)size, SONDE_REC_LOOP, queue->runtime, 0},
                            .time = now,
                            .ready = queue->waited,
                            .max = queue->longest,
                            .tid = queue->tid,
                            .steps = queue->steps};
    for (uint32_t i = 0, next = 0; i < SONDE_LAG_BUCKETS; i++)
        if (queue->lags[i])
            out->lags[next++] = (sonde_loop_lag){i, queue->lags[i]};
    sonde_ring_commit(&thread->ring, size);
    queue->waited = queue->longest = 0;
    queue->steps = 0;
    memset(queue->lags, 0, sizeof queue->lags);
}

void sonde_queues_report(sonde_thread *thread, uint64_t now)
{
    for (uint32_t i = 0; i < used; i++)
        sonde_queue_report(thread, &queues[i], now);
}

void sonde_queues_clear(void)
{
    memset(queues, 0, sizeof queues);
    used = 0;
    if (room)
        madvise(room, QUEUES * ENTRIES * sizeof *room, MADV_DONTNEED);
}
