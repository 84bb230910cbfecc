#define _GNU_SOURCE
#include "core/base/worker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sonde_worker_start(sonde_worker *worker)
{
    atomic_store(&worker->stopping, 0);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstack(&attributes, worker->stack, worker->stack_size);
    error = sonde_start_agent_thread(&worker->thread, &attributes, worker->body, worker->name,
                                     worker->wake);
    pthread_attr_destroy(&attributes);
    worker->running = !error;
    return error;
}

void sonde_worker_stop(sonde_worker *worker)
{
    if (!worker->running)
        return;
    atomic_store(&worker->stopping, 1);
    worker->wake();
    sonde_worker_join(worker);
}

void sonde_worker_join(sonde_worker *worker)
{
    if (worker->running)
        pthread_join(worker->thread, NULL);
    worker->running = false;
}

void sonde_worker_forked(sonde_worker *worker) { worker->running = false; }

void sonde_worker_sleep(sonde_worker *worker, uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, &worker->stopping, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

void sonde_worker_wake(sonde_worker *worker)
{
    syscall(SYS_futex, &worker->stopping, FUTEX_WAKE_PRIVATE, 1);
}
