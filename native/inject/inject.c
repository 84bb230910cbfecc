#define _GNU_SOURCE
#include "inject/inject.h"

#include "inject/choice.h"
#include "inject/safe.h"
#include "inject/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define RTLD_NOW_LOCAL 2u
#define RTLD_NOW_NOLOAD_GLOBAL 0x106u

// What lies where in the room on the target's stack.
#define LIBRARY_AT 0u
#define FUNCTION_AT 1024u
#define ARGUMENT_AT 1088u
_Static_assert(ARGUMENT_AT + sizeof(((sonde_order *)0)->argument) <= SONDE_ROOM, "too little room");

typedef struct {
    const sonde_order *order;
    sonde_answer *answer;
    sonde_tracee tracee;
} injection;

static int32_t fail(injection *job, int error)
{
    job->answer->error = error;
    switch (error) {
    case EFAULT:
        return SONDE_CALL_FAULTED;
    case ESRCH:
        return SONDE_TARGET_GONE;
    case EDEADLK:
        snprintf(job->answer->words, sizeof job->answer->words,
                 "another thread of it keeps the dynamic loader busy");
        return SONDE_NO_SAFE_MOMENT;
    default:
        snprintf(job->answer->words, sizeof job->answer->words, "its stack has no room");
        return SONDE_NO_SAFE_MOMENT;
    }
}

static int call(injection *job, uint64_t function, uint64_t a, uint64_t b, uint64_t *result)
{
    return sonde_tracee_call(&job->tracee, function, (uint64_t[]){a, b, 0}, result);
}

// Fills the target's anonymous file through /proc: it may have another view of the file system.
static int copy_library(injection *job, int number)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", job->order->pid, number);
    int to = open(path, O_WRONLY | O_CLOEXEC);
    if (to < 0)
        return errno;
    int from = open(job->order->library, O_RDONLY | O_CLOEXEC);
    struct stat file;
    int error = from < 0 || fstat(from, &file) ? errno : 0;
    for (off_t left = error ? 0 : file.st_size; left > 0 && !error;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);
        if (n <= 0)
            error = n < 0 ? errno : EIO;
        else
            left -= n;
    }
    if (from >= 0)
        close(from);
    close(to);
    return error;
}

static void ask_dlerror(injection *job)
{
    uint64_t text = 0;
    char *words = job->answer->words;
    if (call(job, job->order->dlerror_at, 0, 0, &text) || !text)
        return;
    for (size_t i = 0; i < sizeof job->answer->words - 1; i++)
        if (!sonde_tracee_read(&job->tracee, text + i, &words[i], 1) || !words[i])
            break;
    words[sizeof job->answer->words - 1] = 0;
}

// Has the target load the library `name`. Where a program keeps its interpreter's symbols to itself
// (RTLD_LOCAL) that fails at first: they become global then, which changes nothing that is bound.
static int load_named(injection *job, const char *name, size_t size, uint64_t *handle)
{
    const sonde_order *order = job->order;
    uint64_t at = job->tracee.room + LIBRARY_AT, promoted = 0;
    if (!sonde_tracee_write(&job->tracee, at, name, size))
        return ENOMEM;
    int failed = call(job, order->dlopen_at, at, RTLD_NOW_LOCAL, handle);
    if (failed || *handle)
        return failed;
    ask_dlerror(job);
    if (!order->runtime[0])
        return 0;
    if (!sonde_tracee_write(&job->tracee, at, order->runtime, sizeof order->runtime))
        return ENOMEM;
    failed = call(job, order->dlopen_at, at, RTLD_NOW_NOLOAD_GLOBAL, &promoted);
    if (failed || !promoted)
        return failed;
    if (!sonde_tracee_write(&job->tracee, at, name, size))
        return ENOMEM;
    failed = call(job, order->dlopen_at, at, RTLD_NOW_LOCAL, handle);
    if (!failed && !*handle)
        ask_dlerror(job);
    return failed;
}

// Loads the library; *function is where to call.
static int32_t load(injection *job, uint64_t *function)
{
    const sonde_order *order = job->order;
    uint64_t room = job->tracee.room, handle = 0, number = 0;
    bool copied = order->memfd_create_at != 0;
    char name[sizeof order->library];
    int error = 0;
    snprintf(name, sizeof name, "%s", order->library);
    if (copied) {
        const char *base = strrchr(order->library, '/');
        snprintf(name, sizeof name, "%s", base ? base + 1 : order->library);
        if (!sonde_tracee_write(&job->tracee, room + LIBRARY_AT, name, sizeof name))
            return fail(job, ENOMEM);
        error = call(job, order->memfd_create_at, room + LIBRARY_AT, MFD_CLOEXEC, &number);
        if (error)
            return fail(job, error);
        if ((int32_t)number < 0) {
            job->answer->error = EPERM;
            return SONDE_NO_COPY;
        }
        error = copy_library(job, (int32_t)number);
        snprintf(name, sizeof name, "/proc/self/fd/%d", (int)number);
    }
    int failed = error ? 0 : load_named(job, name, sizeof name, &handle);
    if (copied && !failed) {
        uint64_t ignored;
        failed = call(job, order->close_at, number, 0, &ignored);
    }
    if (failed)
        return fail(job, failed);
    if (error) {
        job->answer->error = error;
        return SONDE_NO_COPY;
    }
    if (!handle)
        return SONDE_NOT_LOADED;
    failed = call(job, order->dlsym_at, handle, room + FUNCTION_AT, function);
    if (failed)
        return fail(job, failed);
    return *function ? SONDE_INJECTED : SONDE_NO_FUNCTION;
}

static int32_t enter(injection *job)
{
    const sonde_order *order = job->order;
    int error = sonde_tracee_save(&job->tracee);
    uint64_t room = job->tracee.room;
    if (!error && (!sonde_tracee_write(&job->tracee, room + FUNCTION_AT, order->function,
                                       sizeof order->function) ||
                   !sonde_tracee_write(&job->tracee, room + ARGUMENT_AT, order->argument,
                                       sizeof order->argument)))
        error = ENOMEM;
    if (error)
        return fail(job, error);
    uint64_t function = order->function_at, returned = 0;
    int32_t outcome = function ? SONDE_INJECTED : load(job, &function);
    if (outcome != SONDE_INJECTED)
        return outcome;
    error = call(job, function, room + ARGUMENT_AT, 0, &returned);
    if (error)
        return fail(job, error);
    job->answer->returned = (int32_t)returned;
    return SONDE_INJECTED;
}

static int32_t try_once(injection *job)
{
    sonde_tracee *tracee = &job->tracee;
    sonde_answer *answer = job->answer;
    *tracee = (sonde_tracee){.pid = job->order->pid,
                             .tid = sonde_thread_to_try(job->order->pid, answer->tries++),
                             .texts = (const sonde_text *)job->order->texts,
                             .count = job->order->count};
    if (!tracee->tid)
        return SONDE_TARGET_GONE;
    int error = sonde_tracee_stop(tracee);
    if (error == EPERM || error == EACCES) {
        answer->error = error;
        return SONDE_NOT_PERMITTED;
    }
    if (error) {
        snprintf(answer->words, sizeof answer->words, "its thread did not stop");
        return SONDE_NO_SAFE_MOMENT;
    }
    sonde_stopped stopped;
    sonde_tracee_describe(tracee, &stopped);
    const char *why_not = sonde_unsafe(&stopped);
    int32_t outcome = SONDE_NO_SAFE_MOMENT;
    if (why_not)
        snprintf(answer->words, sizeof answer->words, "%s", why_not);
    else
        outcome = enter(job);
    sonde_tracee_release(tracee);
    answer->stopped_ns += sonde_monotonic() - tracee->stopped_at;
    answer->tid = (uint32_t)tracee->tid;
    return outcome;
}

// A thread of its own: the kernel releases what a tracing thread has left when that ends.
static void *body(void *arg)
{
    injection *job = arg;
    const _Atomic uint32_t *timeout_ms = (const _Atomic uint32_t *)job->order->timeout_ms;
    uint64_t began = sonde_monotonic();
    for (;;) {
        job->answer->outcome = try_once(job);
        if (job->answer->outcome != SONDE_NO_SAFE_MOMENT ||
            sonde_monotonic() - began > (uint64_t)atomic_load(timeout_ms) * 1000000u)
            return NULL;
        // Not in step with anything the target does at regular times.
        struct timespec pause = {0, 150000 + (long)(job->answer->tries * 7919u % 300u) * 1000};
        nanosleep(&pause, NULL);
    }
}

static bool is_text(const char *text, size_t size) { return memchr(text, 0, size) && *text; }

// Carries out `order`; 0 or an errno, and what came of it in `answer`. Signals of our own wait
// until it is over: a target must not be left in the middle of a call.
EXPORT int sonde_inject(const sonde_order *order, sonde_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->outcome = SONDE_WRONG_ORDER;
    if (order->pid <= 0 || order->pid == getpid() || !order->texts || !order->count ||
        !order->timeout_ms || !is_text(order->function, sizeof order->function) ||
        !is_text(order->library, sizeof order->library) ||
        !memchr(order->runtime, 0, sizeof order->runtime) ||
        !memchr(order->argument, 0, sizeof order->argument))
        return EINVAL;
    if (!order->function_at && (!order->dlopen_at || !order->dlsym_at || !order->dlerror_at ||
                                !order->memfd_create_at != !order->close_at))
        return EINVAL;
    injection job = {.order = order, .answer = answer};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, &job);
    if (!error)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
