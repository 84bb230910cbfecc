// What an uncontended lock costs on this machine: one compare-and-exchange to acquire it and one to
// release it; and how long its cache line takes from one processor to another.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define BATCHES 15
#define PAIRS 2000u
#define TRIPS 100u
// A processor of a virtual machine may not run for a while.
#define MAX_NS 20000000u

static _Alignas(128) _Atomic uint32_t word;
static _Atomic bool over;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static double smallest_alone(void)
{
    double best = -1;
    for (int i = 0; i < BATCHES; i++) {
        uint64_t began = now();
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            uint32_t is_free = 0, held = 1;
            atomic_compare_exchange_strong(&word, &is_free, 1);
            atomic_compare_exchange_strong(&word, &held, 0);
        }
        double each = (double)(now() - began) / PAIRS;
        best = best < 0 || each < best ? each : best;
    }
    return best;
}

// Waits for the other one's turn to be over; false: too long.
static bool await(uint32_t turn, uint64_t until)
{
    for (uint32_t tries = 1; atomic_load_explicit(&word, memory_order_acquire) != turn; tries++)
        if (atomic_load_explicit(&over, memory_order_relaxed) ||
            (tries % 1024 == 0 && now() > until))
            return false;
    return true;
}

static void *answer(void *unused)
{
    (void)unused;
    uint64_t until = now() + 2 * MAX_NS;
    for (uint32_t turn = 1; await(turn, until); turn += 2)
        atomic_store_explicit(&word, turn + 1, memory_order_release);
    return NULL;
}

static double smallest_transfer(void)
{
    uint64_t until = now() + MAX_NS;
    double best = -1;
    uint32_t turn = 0;
    for (int i = 0; i < BATCHES; i++) {
        uint64_t began = now();
        for (uint32_t trip = 0; trip < TRIPS; trip++, turn += 2) {
            atomic_store_explicit(&word, turn + 1, memory_order_release);
            if (!await(turn + 2, until))
                return best;
        }
        double each = (double)(now() - began) / (2.0 * TRIPS);
        best = best < 0 || each < best ? each : best;
    }
    return best;
}

static bool pin(pthread_t thread, int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return pthread_setaffinity_np(thread, sizeof one, &one) == 0;
}

// The costs in nanoseconds; -1: it cannot be measured, as on one processor.
EXPORT void sonde_atomic_costs(double *alone_ns, double *transfer_ns)
{
    cpu_set_t allowed;
    int processors[2], count = 0;
    *transfer_ns = -1;
    *alone_ns = smallest_alone();
    if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed))
        return;
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET(i, &allowed))
            processors[count++] = i;
    pthread_t other;
    atomic_store(&word, 0);
    atomic_store(&over, false);
    if (count < 2 || pthread_create(&other, NULL, answer, NULL))
        return;
    if (pin(other, processors[0]) && pin(pthread_self(), processors[1]))
        *transfer_ns = smallest_transfer();
    atomic_store(&over, true);
    pthread_join(other, NULL);
    atomic_store(&word, 0);
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}
