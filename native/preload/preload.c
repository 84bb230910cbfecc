// Enters a command at its start: LD_PRELOADed into the target and everything it executes, it waits
// until a Python interpreter or a JVM is up and then loads the agent for it.
//
// It knows no headers of theirs and no version: one library for every runtime and for the shells
// and env(1)s before it. SONDE_SOCKET and our LD_PRELOAD entry are taken out of the environment
// before the runtime copies it, and put back only for programs the target executes.
#define _GNU_SOURCE
#include "environment.h"
#include "java.h"
#include "mask.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int (*agent_start)(const char *, unsigned);
static void (*agent_audited)(const char *, void *);
static int (*agent_signal_action)(int, const struct sigaction *, struct sigaction *);
static bool tried, started;

static void *load_agent(const char *runtime)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%.*s/libsonde-%s.so", sonde_environment.folder_len,
                     sonde_environment.library, runtime);
    if (n < 0 || n >= (int)sizeof path)
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

static void load_cpython_agent(void)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version"); // 3.11+
    if (!version)
        return;
    // The same version without the GIL has other structures, and no agent yet.
    const char *(*told)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    if (!told || strstr(told(), "free-threading"))
        return;
    char runtime[64];
    snprintf(runtime, sizeof runtime, "cpython-%lu.%lu", *version >> 24 & 0xff,
             *version >> 16 & 0xff);
    void *agent = load_agent(runtime);
    if (!agent)
        return;
    *(void **)&agent_start = dlsym(agent, "sonde_agent_start");
    *(void **)&agent_audited = dlsym(agent, "sonde_agent_audited");
}

// The first audit event after initialisation is the earliest moment at which the interpreter is
// whole and no line of the program has run. Audit hooks cannot be taken out again; without a
// session this one returns at once.
static int on_audit(const char *event, void *args, void *unused)
{
    (void)unused;
    if (!tried) {
        int (*initialized)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
        if (!initialized || !initialized())
            return 0;
        tried = true;
        load_cpython_agent();
        started = agent_start && agent_start(sonde_environment.socket, 0) == 0;
        if (started)
            sonde_mask_begin();
    } else if (started) {
        agent_audited(event, args);
    }
    return 0;
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
    if (!sonde_environment_read((void *)enter))
        return;
    int (*add_hook)(int (*)(const char *, void *, void *), void *) =
        (int (*)(int (*)(const char *, void *, void *), void *))dlsym(RTLD_DEFAULT,
                                                                      "PySys_AddAuditHook");
    if (add_hook) {
        sonde_environment_remove();
        add_hook(on_audit, NULL);
    } else if (sonde_java_expect(on_java)) {
        sonde_environment_remove();
    }
    // No runtime in this program: the variables stay for the one it may execute.
}

// The target's own view of the signals the agent has a hand on: what it sets and asks for is kept
// beside the agent's handlers, which pass on everything that is not theirs. A handler set over the
// agent's (faulthandler.enable() does that) would take the agent's guarded faults for crashes.
static bool told_agent(int sig, const struct sigaction *set, struct sigaction *get)
{
    return started && (sig == SIGTRAP || sig == SIGSEGV || sig == SIGBUS) &&
           agent_signal_action(sig, set, get);
}

EXPORT int sigaction(int sig, const struct sigaction *set, struct sigaction *get)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (told_agent(sig, set, get))
        return 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    return real(sig, set, get);
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
    static sighandler_t (*real)(int, sighandler_t);
    struct sigaction set = {.sa_handler = handler, .sa_flags = SA_RESTART}, get;
    if (told_agent(sig, &set, &get))
        return get.sa_handler;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "signal");
    return real(sig, handler);
}
