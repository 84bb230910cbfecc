#define _GNU_SOURCE
#include "cpython/session/fork_warning.h"

#include "core/base/agent_thread.h"
#include "core/base/clock.h"
#include "core/hooks/got.h"
#include "core/protocol/attach_thread.h"
#include "core/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <Python.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if PY_VERSION_HEX >= 0x030C0000
#define THREADS_FIELD 20 // of /proc/self/stat, as proc(5) counts them; the name is the second
// A process with more threads has some of its own: ours are the attach thread, the reader and the
// one that opens windows of allocations, and one of each that ends.
#define MAX_OURS 6
// Threads come and go while they are counted.
#define TRIES 100
#define PAUSE_NS 50000
// From a fork to the moment at which the interpreter counts threads at-fork functions run.
#define FORK_TAKES_NS 1000000000u

static _Atomic uint64_t forked_at;
static _Atomic uint32_t ending; // the thread id of a thread of ours that is about to end

static bool is_ours(const char *task)
{
    char path[64], name[16];
    snprintf(path, sizeof path, "/proc/self/task/%.10s/comm", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name);
    close(fd);
    size_t prefix = sizeof SONDE_THREAD_PREFIX - 1;
    return n >= (ssize_t)prefix && memcmp(name, SONDE_THREAD_PREFIX, prefix) == 0;
}

// How many threads the process has, and how many of them are ours. False if /proc does not say.
static bool count_threads(unsigned long *all, unsigned long *ours)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return false;
    *all = *ours = 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        ++*all;
        *ours += is_ours(task->d_name);
    }
    closedir(tasks);
    return true;
}

typedef struct {
    char text[1024];
    const char *before, *after; // the number of threads is between them
    unsigned long threads;
} stat_line;

static bool read_stat(FILE *file, stat_line *line)
{
    size_t size = fread(line->text, 1, sizeof line->text - 1, file);
    line->text[size] = 0;
    char *at = strrchr(line->text, ')'); // a program may be called anything
    for (int field = 2; at && field < THREADS_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return false;
    char *rest;
    line->before = at + 1;
    line->threads = strtoul(at + 1, &rest, 10);
    line->after = rest;
    return true;
}

// The file with the number of threads without ours.
static FILE *without(FILE *file, const stat_line *line, unsigned long ours)
{
    FILE *adjusted = fmemopen(NULL, sizeof line->text, "w+");
    if (!adjusted)
        return file;
    fprintf(adjusted, "%.*s%lu%s", (int)(line->before - line->text), line->text,
            line->threads - ours, line->after);
    rewind(adjusted);
    fclose(file);
    return adjusted;
}

static FILE *on_fopen(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    // The interpreter itself opens nothing else of that name: Python code goes another way.
    if (!file || strcmp(path, "/proc/self/stat") != 0)
        return file;
    struct timespec pause = {0, PAUSE_NS};
    stat_line line;
    unsigned long all = 0, ours = 0;
    bool steady = false;
    for (int i = 0; i < TRIES && !steady; i++) {
        if (i) {
            nanosleep(&pause, NULL);
            FILE *again = fopen(path, mode);
            if (!again)
                break;
            fclose(file);
            file = again;
        }
        if (!read_stat(file, &line) || line.threads <= 1 || line.threads > 1 + MAX_OURS)
            break;
        steady = !atomic_load(&sonde_threads_starting) && count_threads(&all, &ours) &&
                 all == line.threads;
    }
    if (steady && ours && ours < line.threads)
        return without(file, &line, ours);
    rewind(file);
    if (!sonde_attach_is_active() && !atomic_load(&sonde.generation))
        sonde_forks_leave();
    return file;
}

static const sonde_hook hooks[] = {
    {"fopen", (void *)on_fopen},
    {"fopen64", (void *)on_fopen},
};

void sonde_forks_watch(void)
{
    sonde_got_hook(&PyCode_Type, NULL, hooks, sizeof hooks / sizeof *hooks);
    sonde_got_keep((void *)on_fopen);
}

static bool is_ending(void)
{
    uint32_t tid = atomic_load(&ending);
    if (tid && syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        return true;
    atomic_store(&ending, 0);
    return false;
}

static bool forks_now(void)
{
    uint64_t last = atomic_load(&forked_at);
    return last && sonde_now() - last < FORK_TAKES_NS;
}

void sonde_forks_thread_ends(void)
{
    atomic_store(&ending, (uint32_t)syscall(SYS_gettid));
    if (!forks_now())
        sonde_got_unhook_one((void *)on_fopen);
}

void sonde_forks_leave(void)
{
    if (!forks_now() || !is_ending())
        sonde_got_unhook_one((void *)on_fopen);
}

void sonde_forks_before(void)
{
    int saved = errno;
    atomic_store(&forked_at, sonde_now());
    if (is_ending())
        sonde_forks_watch();
    errno = saved;
    sonde_got_before_fork();
}
#else
void sonde_forks_watch(void) {}
void sonde_forks_thread_ends(void) {}
void sonde_forks_leave(void) {}
void sonde_forks_before(void) { sonde_got_before_fork(); }
#endif
