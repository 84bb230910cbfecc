// A thread of the agent's own that works until it is stopped, and sleeps in between.
#ifndef SONDE_CORE_WORKER_H
#define SONDE_CORE_WORKER_H

#include "core/base/agent_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name; // begins with SONDE_THREAD_PREFIX
    void *(*body)(void *);
    void (*wake)(void); // as in agent_thread.h, and to have `body` notice that it is to end
    // Its stack, a part of the library, which stays: glibc would keep one that it allocated, and
    // the target's memory would not be as before.
    void *stack;
    size_t stack_size;
    pthread_t thread;
    bool running; // it was started, and is not joined yet
    _Atomic uint32_t stopping;
} sonde_worker;

// 0 or an errno.
int sonde_worker_start(sonde_worker *worker);
// Has it end, and waits for that; if it does not run, nothing.
void sonde_worker_stop(sonde_worker *worker);
// Waits until it has ended by itself.
void sonde_worker_join(sonde_worker *worker);
// In a forked child, where it does not exist.
void sonde_worker_forked(sonde_worker *worker);

// By the worker itself: sleeps that long, at most until it is woken.
void sonde_worker_sleep(sonde_worker *worker, uint64_t ns);
// Ends that sleep.
void sonde_worker_wake(sonde_worker *worker);

static inline bool sonde_worker_is_stopping(sonde_worker *worker)
{
    return atomic_load(&worker->stopping) != 0;
}

#endif
