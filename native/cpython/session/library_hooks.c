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

// ---- who is hooked

#define ACTION_HOOKS 3
static const sonde_hook hooks[] = {
    {"sigaction", (void *)on_sigaction},
    {"signal", (void *)on_signal},
    {"siginterrupt", (void *)on_siginterrupt},
    {"execve", (void *)on_execve},
    {"execv", (void *)on_execv},
    {"execvp", (void *)on_execvp},
    {"execvpe", (void *)on_execvpe},
    {"fexecve", (void *)on_fexecve},
    {"execveat", (void *)on_execveat},
    {"execl", (void *)on_execl},
    {"execlp", (void *)on_execlp},
    {"execle", (void *)on_execle},
};

// The loader lists objects in the order in which it loaded them. What it has to look through in a
// program of hundreds of libraries takes milliseconds: only the new ones, unless some were
// unloaded.
static sonde_loaded_objects seen;
static size_t place, hooked;

static bool is_wanted(const char *file, uintptr_t start, uintptr_t end)
{
    (void)file;
    bool is_new = place++ >= hooked;
    return is_new && !((uintptr_t)&seen >= start && (uintptr_t)&seen < end);
}

static _Atomic bool busy; // one thread at a time; what it misses, the next look finds

static void hook_loaded(bool all)
{
    if (atomic_exchange(&busy, true))
        return;
    sonde_loaded_objects now = sonde_got_loaded();
    if (all || now.added != seen.added || now.removed != seen.removed) {
        if (all || now.removed != seen.removed)
            hooked = 0;
        seen = now;
        place = 0;
        sonde_got_hook_all(is_wanted, hooks, sizeof hooks / sizeof *hooks);
        hooked = place;
    }
    atomic_store(&busy, false);
}

static void on_loaded(const char *file)
{
    (void)file;
    hook_loaded(false);
}

void sonde_libraries_watch(bool preloaded)
{
    if (preloaded) {
        sonde_got_hook(&PyCode_Type, NULL, hooks, ACTION_HOOKS);
        return;
    }
    hook_loaded(true);
    sonde_library_loads_watch(on_loaded);
    sonde_library_loads_hook(&PyCode_Type);
}

void sonde_libraries_watch_loaded(void)
{
    // Not after the end, when the hooks were taken out.
    if (atomic_load(&sonde.generation))
        hook_loaded(false);
}

void sonde_libraries_forked(void) { atomic_store(&busy, false); }
