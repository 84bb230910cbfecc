#define _GNU_SOURCE
#include "cpython/session/sigaction_hooks.h"

#include "core/hooks/got.h"
#include "core/protocol/join_session.h"
#include "core/sampling/sigtrap.h"

#include <errno.h>
#include <Python.h>
#include <signal.h>

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

static const sonde_hook hooks[] = {
    {"sigaction", (void *)on_sigaction},
    {"siginterrupt", (void *)on_siginterrupt},
};

void sonde_signal_actions_watch(void)
{
    sonde_got_hook(&PyCode_Type, NULL, hooks, sizeof hooks / sizeof *hooks);
}
