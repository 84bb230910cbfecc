// system() and popen() start a shell from inside libc, past exec.c, with the environment of the
// process, which has no variables of ours. So the shell executes another one with them.
#define _GNU_SOURCE
#include "preload/environment.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SHELL "/bin/sh"

// One argument of a program (MAX_ARG_STRLEN of Linux); a longer command is not changed.
#define MAX_COMMAND (128 << 10)

static const char *variable(const char *name)
{
    size_t n = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, name, n) && (*entry)[n] == '=')
            return *entry + n + 1;
    return NULL;
}

// Does the shell find itself by its name? Then its command line stays what it would have been.
static bool is_on_path(void)
{
    struct stat shell, found;
    const char *at = variable("PATH");
    if (!at || stat(SHELL, &shell))
        return false;
    while (*at) {
        char path[4096];
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s%ssh", (int)n, at, n ? "/" : "");
        if (!stat(path, &found) && S_ISREG(found.st_mode) && !access(path, X_OK))
            return found.st_dev == shell.st_dev && found.st_ino == shell.st_ino;
        at += n + (at[n] == ':');
    }
    return false;
}

// glibc does the same from 2.38 on.
static bool ends_options(void)
{
    unsigned major = 0, minor = 0;
    sscanf(gnu_get_libc_version(), "%u.%u", &major, &minor);
    return major > 2 || (major == 2 && minor >= 38);
}

// Writes `text` in single quotes to `to`, returns the end.
static char *quote(char *to, const char *text)
{
    *to++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            memcpy(to, "'\\''", 4);
            to += 4;
        } else {
            *to++ = *text;
        }
    }
    *to++ = '\'';
    *to = 0;
    return to;
}

// The command to give to the shell instead, to be freed; NULL: the same.
static char *command_with_session(const char *command)
{
    if (!command || !sonde_environment_is_passed_on())
        return NULL;
    const char *users = variable("LD_PRELOAD");
    size_t most = 4 * (strlen(command) + strlen(sonde_environment.library) +
                       (users ? strlen(users) : 0) + strlen(sonde_environment.socket)) +
                  200;
    char *changed = malloc(most);
    char *preload = malloc(strlen(sonde_environment.library) + (users ? strlen(users) : 0) + 2);
    if (changed && preload) {
        strcpy(preload, sonde_environment.library);
        if (users)
            strcat(strcat(preload, ":"), users);
        char *end = quote(stpcpy(changed, "LD_PRELOAD="), preload);
        end = quote(stpcpy(end, " SONDE_SOCKET="), sonde_environment.socket);
        end = stpcpy(end, sonde_environment.follow ? "" : " SONDE_NO_CHILDREN=1");
        bool named = is_on_path();
        end = stpcpy(end, named ? " exec sh -c " : " exec " SHELL " -c ");
        end = quote(stpcpy(end, ends_options() ? "-- " : ""), command);
        strcpy(end, named ? "" : " sh");
    }
    bool fits = changed && preload && strlen(changed) < MAX_COMMAND;
    free(preload);
    if (fits)
        return changed;
    free(changed);
    return NULL;
}

EXPORT int system(const char *command)
{
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "system");
    char *changed = command_with_session(command);
    int result = real(changed ? changed : command);
    int saved = errno;
    free(changed);
    errno = saved;
    return result;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "popen");
    char *changed = command_with_session(command);
    FILE *result = real(changed ? changed : command, mode);
    int saved = errno;
    free(changed);
    errno = saved;
    return result;
}
