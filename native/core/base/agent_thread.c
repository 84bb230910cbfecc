#define _GNU_SOURCE
#include "core/base/agent_thread.h"

#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 100000000u
// How long to wait for a thread that has reported its end.
#define ENDING_NS 1000000000u
#define ENDING_STEP_NS 200000
#define MAX_THREADS 6

_Atomic unsigned sonde_threads_starting;
static _Atomic uint32_t created; // from before they are there
static _Atomic uint32_t alive;   // from when they are, until they have nothing left to do
static _Atomic(void (*)(void)) wakers[MAX_THREADS];
static _Atomic bool ending; // the program's last thread is on its way out
static _Atomic bool exits;  // one of ours ends the process
static _Atomic uint64_t next_look;
static sigset_t mask_of_program;
static pid_t owner; // a child that was forked past the C library has our memory, not our threads

// ---- who is left

// Threads that the kernel counts; a main thread that has ended stays until all others have.
static uint32_t count_threads(void)
{
    struct stat tasks; // the links to a folder are its own two, and one from each folder in it
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2
               ? (uint32_t)(tasks.st_nlink - 2)
               : UINT32_MAX;
}

// It then has no working directory. That is checked first because it takes no descriptor, whose
// number the program may expect to get, or close.
static bool has_main_thread_ended(void)
{
    char text[512];
    if (readlink("/proc/self/cwd", text, sizeof text) >= 0 || errno != ENOENT)
        return false;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *at = strrchr(text, ')'); // the name before it may hold anything
    return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

// Whether all threads but so many have ended. None of ours is the main thread.
static bool is_left_with(uint32_t threads)
{
    return count_threads() <= threads + 1 && has_main_thread_ended();
}

// ---- the end

static void *end_process(void *unused)
{
    (void)unused;
    exit(0); // what the C library calls in the last thread
}

// In a thread with an ordinary stack: what the program does at its exit may need one.
static void exit_if_last_now(void)
{
    if (!is_left_with(atomic_load(&alive)))
        return;
    if (!atomic_exchange(&exits, true)) {
        pthread_t thread;
        pthread_sigmask(SIG_SETMASK, &mask_of_program, NULL);
        if (pthread_create(&thread, NULL, end_process, NULL) != 0)
            exit(0);
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
}

void sonde_exit_if_last(void)
{
    uint64_t now = sonde_now();
    if (!atomic_load(&ending)) {
        if (now < atomic_load(&next_look))
            return;
        atomic_store(&next_look, now + LOOK_NS);
        exit_if_last_now();
        return;
    }
    struct timespec step = {0, ENDING_STEP_NS};
    for (uint64_t until = now + ENDING_NS; sonde_now() < until;) {
        exit_if_last_now();
        nanosleep(&step, NULL);
    }
    atomic_store(&ending, false); // it takes its time, or has started another thread
}

static void on_thread_end(void *unused)
{
    (void)unused;
    int saved = errno;
    uint32_t ours = atomic_load(&created);
    bool is_main = syscall(SYS_gettid) == owner;
    if (ours && getpid() == owner &&
        (count_threads() <= ours + 1 || (!is_main && is_left_with(ours + 1)))) {
        atomic_store(&ending, true);
        for (int i = 0; i < MAX_THREADS; i++) {
            void (*wake)(void) = atomic_load(&wakers[i]);
            if (wake)
                wake();
        }
    }
    errno = saved;
}

void sonde_agent_threads_watch_exit(void)
{
    static pthread_key_t key;
    static bool made;
    if (!made)
        made = pthread_key_create(&key, on_thread_end) == 0;
    if (made)
        pthread_setspecific(key, &key);
}

void sonde_agent_threads_forked(void)
{
    atomic_store(&created, 0);
    atomic_store(&alive, 0);
    atomic_store(&sonde_threads_starting, 0);
    atomic_store(&ending, false);
    atomic_store(&exits, false);
    for (int i = 0; i < MAX_THREADS; i++)
        atomic_store(&wakers[i], NULL);
}

// ---- the beginning

static void add_waker(void (*wake)(void))
{
    for (int i = 0; i < MAX_THREADS; i++)
        if (atomic_load(&wakers[i]) == wake)
            return;
    for (int i = 0; i < MAX_THREADS; i++) {
        void (*none)(void) = NULL;
        if (atomic_compare_exchange_strong(&wakers[i], &none, wake))
            return;
    }
}

static void *run(void *body)
{
    atomic_fetch_add(&alive, 1);
    ((void *(*)(void *))body)(NULL);
    atomic_fetch_sub(&alive, 1);
    atomic_fetch_sub(&created, 1);
    return NULL;
}

int sonde_start_agent_thread(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*body)(void *), const char *name, void (*wake)(void))
{
    // The target's signals are not for it; faults inside the guard are, and a JVM uses some of
    // them.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    add_waker(wake);
    owner = getpid();
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_fetch_add(&sonde_threads_starting, 1);
    if (atomic_fetch_add(&created, 1) == 0)
        mask_of_program = before;
    int error = pthread_create(thread, attributes, run, (void *)body);
    if (error)
        atomic_fetch_sub(&created, 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_setname_np(*thread, name);
    atomic_fetch_sub(&sonde_threads_starting, 1);
    return error;
}
