// Enters a command at its start: LD_PRELOADed into the target and everything it executes, it waits
// until a Python interpreter or a JVM is up and then loads the agent for it.
//
// It knows no headers of theirs and no version: one library for every runtime and for the shells
// and env(1)s before it. SONDE_SOCKET and our LD_PRELOAD entry are removed from the environment
// before main(), and put back only for programs that the target executes.
#define _GNU_SOURCE
#include "preload/environment.h"
#include "preload/java.h"
#include "preload/mask.h"
#include "preload/python.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void (*agent_audited)(const char *, void *);
static int (*agent_signal_action)(int, const struct sigaction *, struct sigaction *);
static bool tried, started;

static bool agent_path(char *path, size_t size, const char *runtime)
{
    int n = snprintf(path, size, "%.*s/libsonde-%s.so", sonde_environment.folder_len,
                     sonde_environment.library, runtime);
    return n >= 0 && n < (int)size;
}

static void *load_agent(const char *runtime)
{
    char path[4096];
    if (!agent_path(path, sizeof path, runtime))
        return NULL;
    // Not promoted to global scope: the target's own symbol look-ups must not find ours.
    void *agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!agent)
        return NULL;
    *(void **)&sonde_environment.before_exec = dlsym(agent, "sonde_agent_before_exec");
    *(void **)&sonde_environment.exec_failed = dlsym(agent, "sonde_agent_exec_failed");
    *(void **)&agent_signal_action = dlsym(agent, "sonde_agent_signal_action");
    return agent;
}

static bool has_agent(const char *runtime)
{
    char path[4096];
    return agent_path(path, sizeof path, runtime) && access(path, R_OK) == 0;
}

// The agent needs the interpreter's symbols. Where a program keeps them to itself (RTLD_LOCAL) they
// become global; nothing that was bound until then changes.
static void *load_cpython_agent(const char *runtime, void *library)
{
    struct link_map *map;
    if (!dlsym(RTLD_DEFAULT, "Py_Version") && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    return load_agent(runtime);
}

static void on_python(const char *runtime, void *library)
{
    if (tried) // initialised once more
        return;
    tried = true;
    void *agent = load_cpython_agent(runtime, library);
    if (!agent)
        return;
    int (*start)(const char *, unsigned) =
        (int (*)(const char *, unsigned))dlsym(agent, "sonde_agent_start");
    *(void **)&agent_audited = dlsym(agent, "sonde_agent_audited");
    sonde_environment.has_runtime = true;
    started = start && start(sonde_environment.socket, 0) == 0;
    if (started)
        sonde_mask_begin();
}

static void on_audit(const char *event, void *args)
{
    if (started)
        agent_audited(event, args);
}

static void on_java(void *vm, void *env)
{
    void *agent = load_agent("hotspot");
    if (!agent)
        return;
    int (*start)(void *, void *, const char *) =
        (int (*)(void *, void *, const char *))dlsym(agent, "sonde_agent_start_java");
    started = start && start(vm, env, sonde_environment.socket) == 0;
    if (started)
        sonde_mask_begin();
}

__attribute__((constructor)) static void enter(void)
{
    static const sonde_python_ops python = {has_agent, on_python, on_audit};
    if (!sonde_environment_read((void *)enter))
        return;
    if (!sonde_environment_is_bypassed())
        sonde_environment_remove();
    sonde_environment.has_runtime = sonde_java_expect(on_java);
    sonde_python_expect(&python);
}

// The target's own view of the signals that the agent handles: what it sets and asks for is kept
// beside the agent's handlers, which pass on everything that is not theirs. A handler set over the
// agent's (faulthandler.enable() does that) would take the agent's guarded faults for crashes.
static bool is_answered_by_agent(int sig, const struct sigaction *set, struct sigaction *get)
{
    return started && (sig == SIGTRAP || sig == SIGSEGV || sig == SIGBUS) &&
           agent_signal_action(sig, set, get);
}

EXPORT int sigaction(int sig, const struct sigaction *set, struct sigaction *get)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (is_answered_by_agent(sig, set, get))
        return 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    return real(sig, set, get);
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
    static sighandler_t (*real)(int, sighandler_t);
    struct sigaction set = {.sa_handler = handler, .sa_flags = SA_RESTART}, get;
    if (is_answered_by_agent(sig, &set, &get))
        return get.sa_handler;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "signal");
    return real(sig, handler);
}
