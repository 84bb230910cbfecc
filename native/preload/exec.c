// What the target executes gets the session's variables back, whatever environment it is given.
//
// Called between vfork and exec too: everything lies on the stack, nothing is allocated and no
// global is written.
#define _GNU_SOURCE
#include "preload/environment.h"

#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define EXPORT __attribute__((visibility("default")))
// Resolved on every call: caching would write a global after vfork. execs are rare.
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char preload_is[] = "LD_PRELOAD=";
static const char socket_is[] = "SONDE_SOCKET=";
static char no_children[] = "SONDE_NO_CHILDREN=1";

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

// What replaces this very process must not meet its perf events, see the agent.
static void before_exec(void)
{
    if (sonde_environment.before_exec)
        sonde_environment.before_exec();
}

static int failed(int result)
{
    if (sonde_environment.exec_failed)
        sonde_environment.exec_failed();
    return result;
}

static size_t count(char *const list[])
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static size_t preload_room(char *const env[])
{
    size_t room = sizeof preload_is + strlen(sonde_environment.library) + 2;
    for (size_t i = 0; env && env[i]; i++)
        if (starts(env[i], preload_is))
            room += strlen(env[i]);
    return room;
}

static bool begins_with_ours(const char *list)
{
    size_t n = strlen(sonde_environment.library);
    return starts(list, sonde_environment.library) &&
           (list[n] == 0 || list[n] == ':' || list[n] == ' ');
}

// `out` has room for the entries of env and four more, `preload` for preload_room(env) bytes. The
// user's list keeps its place among the variables, even if it is empty.
static void with_session(char *const env[], char **out, char *preload, char *socket)
{
    size_t n = 0;
    const char *users = NULL;
    for (size_t i = 0; env && env[i]; i++) {
        if (starts(env[i], preload_is)) {
            if (!users)
                out[n++] = preload;
            users = env[i] + sizeof preload_is - 1;
        } else if (!starts(env[i], socket_is) && strcmp(env[i], no_children) != 0) {
            out[n++] = env[i];
        }
    }
    strcpy(preload, preload_is);
    if (users && begins_with_ours(users)) {
        strcat(preload, users);
    } else {
        strcat(preload, sonde_environment.library);
        if (users) {
            strcat(preload, ":");
            strcat(preload, users);
        }
    }
    strcpy(socket, socket_is);
    strcat(socket, sonde_environment.socket);
    if (!users)
        out[n++] = preload;
    out[n++] = socket;
    if (!sonde_environment.follow)
        out[n++] = no_children;
    out[n] = NULL;
}

// Declares `env` again with the session in it. A macro because the memory must be the caller's.
#define ADD_SESSION(env)                                                                           \
    char **with_env = (char **)(env);                                                              \
    if (sonde_environment_is_passed_on()) {                                                        \
        with_env = alloca((count(env) + 4) * sizeof *with_env);                                    \
        with_session(env, with_env, alloca(preload_room(env)),                                     \
                     alloca(sizeof socket_is + sizeof sonde_environment.socket));                  \
    }

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    ADD_SESSION(env);
    before_exec();
    return failed(REAL(execve)(path, argv, with_env));
}

EXPORT int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    ADD_SESSION(env);
    before_exec();
    return failed(REAL(execvpe)(file, argv, with_env));
}

EXPORT int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    ADD_SESSION(env);
    before_exec();
    return failed(REAL(fexecve)(fd, argv, with_env));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
    ADD_SESSION(env);
    before_exec();
    return failed(REAL(execveat)(dir, path, argv, with_env, flags));
}

// The variadic ones collect their arguments and go through the above, as libc's own do.
#define COLLECT(first)                                                                             \
    va_list list;                                                                                  \
    va_start(list, first);                                                                         \
    size_t n = 1;                                                                                  \
    while (va_arg(list, char *))                                                                   \
        n++;                                                                                       \
    va_end(list);                                                                                  \
    char **argv = alloca((n + 1) * sizeof *argv);                                                  \
    va_start(list, first);                                                                         \
    argv[0] = (char *)first;                                                                       \
    for (size_t i = 1; i <= n; i++)                                                                \
        argv[i] = va_arg(list, char *);

EXPORT int execl(const char *path, const char *arg, ...)
{
    COLLECT(arg)
    va_end(list);
    return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
    COLLECT(arg)
    va_end(list);
    return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
    COLLECT(arg)
    char *const *env = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, env);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    ADD_SESSION(env);
    return REAL(posix_spawn)(pid, path, actions, attr, argv, with_env);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    ADD_SESSION(env);
    return REAL(posix_spawnp)(pid, file, actions, attr, argv, with_env);
}
