#define _GNU_SOURCE
#include "cpython/session/library_hooks.h"

#include "core/hooks/got.h"
#include "core/hooks/library_loads.h"
#include "core/protocol/join_session.h"
#include "core/sampling/sigtrap.h"
#include "core/session/session.h"

#include <alloca.h>
#include <errno.h>
#include <Python.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

// ---- signal actions

static void refresh(void)
{
    int saved = errno;
    sonde_trap_refresh();
    errno = saved;
}

static int on_sigaction(int sig, const struct sigaction *set, struct sigaction *get)
{
    // A handler over ours would get our ticks, and without any the next one would kill the process.
    if (sig == SIGTRAP && sonde_agent_signal_action(sig, set, get))
        return 0;
    int result = sigaction(sig, set, get);
    // A handler that is taken away can wait until the reader looks: each subprocess does so thrice.
    if (result == 0 && set && set->sa_handler != SIG_DFL && set->sa_handler != SIG_IGN)
        refresh();
    return result;
}

static sighandler_t on_signal(int sig, sighandler_t handler)
{
    struct sigaction set, get;
    memset(&set, 0, sizeof set);
    set.sa_handler = handler;
    set.sa_flags = SA_RESTART;
    if (sig == SIGTRAP && sonde_agent_signal_action(sig, &set, &get))
        return get.sa_handler;
    sighandler_t before = signal(sig, handler);
    if (before != SIG_ERR && handler != SIG_DFL && handler != SIG_IGN)
        refresh();
    return before;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int on_siginterrupt(int sig, int interrupts)
{
    int result = siginterrupt(sig, interrupts);
    if (result == 0)
        refresh();
    return result;
}
#pragma GCC diagnostic pop

static const sonde_hook actions[] = {
    {"sigaction", (void *)on_sigaction},
    {"signal", (void *)on_signal},
    {"siginterrupt", (void *)on_siginterrupt},
};

// ---- another program; after vfork too, so nothing is allocated and no global is written

static int failed(int result)
{
    sonde_agent_exec_failed();
    return result;
}

static int on_execve(const char *path, char *const argv[], char *const env[])
{
    sonde_agent_before_exec();
    return failed(execve(path, argv, env));
}

static int on_execv(const char *path, char *const argv[])
{
    sonde_agent_before_exec();
    return failed(execv(path, argv));
}

static int on_execvp(const char *file, char *const argv[])
{
    sonde_agent_before_exec();
    return failed(execvp(file, argv));
}

static int on_execvpe(const char *file, char *const argv[], char *const env[])
{
    sonde_agent_before_exec();
    return failed(execvpe(file, argv, env));
}

static int on_fexecve(int fd, char *const argv[], char *const env[])
{
    sonde_agent_before_exec();
    return failed(fexecve(fd, argv, env));
}

static int on_execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
    sonde_agent_before_exec();
    return failed(execveat(dir, path, argv, env, flags));
}

static size_t count(const char *first, va_list list)
{
    size_t n = 0;
    for (const char *arg = first; arg; arg = va_arg(list, char *))
        n++;
    return n;
}

// The arguments of a variadic call, as an array in `argv`; `list` is behind them afterwards.
#define COLLECT(first)                                                                             \
    va_list list;                                                                                  \
    va_start(list, first);                                                                         \
    size_t n = count(first, list);                                                                 \
    va_end(list);                                                                                  \
    char **argv = alloca((n + 1) * sizeof *argv);                                                  \
    va_start(list, first);                                                                         \
    argv[0] = (char *)(first);                                                                     \
    for (size_t i = 1; i <= n; i++)                                                                \
        argv[i] = va_arg(list, char *);

static int on_execl(const char *path, const char *first, ...)
{
    COLLECT(first)
    va_end(list);
    return on_execv(path, argv);
}

static int on_execlp(const char *file, const char *first, ...)
{
    COLLECT(first)
    va_end(list);
    return on_execvp(file, argv);
}

static int on_execle(const char *path, const char *first, ...)
{
    COLLECT(first)
    char *const *env = va_arg(list, char *const *);
    va_end(list);
    return on_execve(path, argv, env);
}

static const sonde_hook execs[] = {
    {"execve", (void *)on_execve},   {"execv", (void *)on_execv},
    {"execvp", (void *)on_execvp},   {"execvpe", (void *)on_execvpe},
    {"fexecve", (void *)on_fexecve}, {"execveat", (void *)on_execveat},
    {"execl", (void *)on_execl},     {"execlp", (void *)on_execlp},
    {"execle", (void *)on_execle},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static _Atomic unsigned long long loaded;
static _Atomic bool sees_execs;

void sonde_libraries_watch(bool with_execs)
{
    atomic_store(&sees_execs, with_execs);
    atomic_store(&loaded, sonde_got_loaded_count());
    sonde_got_hook(NULL, "", actions, COUNT(actions));
    if (with_execs)
        sonde_got_hook(NULL, "", execs, COUNT(execs));
    sonde_library_loads_watch(sonde_libraries_watch_loaded);
    sonde_library_loads_hook(&PyCode_Type);
}

void sonde_libraries_watch_loaded(void)
{
    // Not after the end, when the hooks were taken out.
    if (atomic_load(&sonde.generation) && sonde_got_loaded_count() != atomic_load(&loaded))
        sonde_libraries_watch(atomic_load(&sees_execs));
}
