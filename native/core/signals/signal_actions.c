#define _GNU_SOURCE
#include "core/signals/signal_actions.h"

#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc's other name for sigaction, which is not interposed.
extern int __sigaction(int sig, const struct sigaction *set, struct sigaction *get);

int sonde_sigaction(int sig, const struct sigaction *set, struct sigaction *get)
{
    return __sigaction(sig, set, get);
}

static void die_by(int sig, const siginfo_t *info)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sonde_sigaction(sig, &action, NULL);
    // A memory fault happens again when we return, and leaves the core file it would have left; a
    // breakpoint is behind us by now, and what was sent must be sent again.
    if (sig == SIGTRAP || info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
}

void sonde_run_action(struct sigaction *action, int sig, siginfo_t *info, void *context)
{
    struct sigaction given = *action;
    bool with_info = given.sa_flags & SA_SIGINFO;
    if (!with_info && (given.sa_handler == SIG_DFL || given.sa_handler == SIG_IGN)) {
        // The kernel kills a program that ignores a fault of its own, which would go on for ever;
        // only what was sent (si_code of 0 and below) can be ignored.
        if (given.sa_handler == SIG_DFL || info->si_code > 0)
            die_by(sig, info);
        return;
    }
    if (given.sa_flags & SA_RESETHAND) {
        action->sa_handler = SIG_DFL;
        action->sa_flags &= ~SA_SIGINFO;
    }
    // Blocked meanwhile is what the handler asked for; the return from our own undoes it.
    if (!(given.sa_flags & SA_NODEFER))
        sigaddset(&given.sa_mask, sig);
    // The system call itself: sigprocmask is answered by the preload library.
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &given.sa_mask, NULL, _NSIG / 8);
    if (with_info)
        given.sa_sigaction(sig, info, context);
    else
        given.sa_handler(sig);
}
