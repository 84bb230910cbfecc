#define _GNU_SOURCE
#include "cpython/session/exec_hooks.h"

#include "core/hooks/got.h"
#include "core/protocol/join_session.h"

#include <Python.h>
#include <unistd.h>

static int on_execve(const char *path, char *const argv[], char *const envp[])
{
    sonde_agent_before_exec();
    int result = execve(path, argv, envp);
    sonde_agent_exec_failed();
    return result;
}

static int on_execv(const char *path, char *const argv[])
{
    sonde_agent_before_exec();
    int result = execv(path, argv);
    sonde_agent_exec_failed();
    return result;
}

static int on_fexecve(int fd, char *const argv[], char *const envp[])
{
    sonde_agent_before_exec();
    int result = fexecve(fd, argv, envp);
    sonde_agent_exec_failed();
    return result;
}

static const sonde_hook hooks[] = {
    {"execve", (void *)on_execve},
    {"execv", (void *)on_execv},
    {"fexecve", (void *)on_fexecve},
};

void sonde_execs_watch(void)
{
    sonde_got_hook(&PyCode_Type, NULL, hooks, sizeof hooks / sizeof *hooks);
    sonde_got_hook(NULL, "_posixsubprocess", hooks, sizeof hooks / sizeof *hooks);
}
