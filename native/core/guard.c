#define _GNU_SOURCE
#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int signals[2] = {SIGSEGV, SIGBUS};
static struct sigaction previous[2];
static bool installed[2];

// initial-exec: a general-dynamic TLS access may allocate on first use, in a handler.
static _Thread_local sigjmp_buf *landing __attribute__((tls_model("initial-exec")));

static void pass_on(int sig, siginfo_t *info, void *context)
{
    struct sigaction *old = &previous[sig == SIGBUS];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(sig, info, context);
    } else if (old->sa_handler == SIG_DFL) {
        sigaction(sig, old, NULL);
        // A real fault happens again at once and dies as it would have; one that was sent must be
        // sent again.
        if (info->si_code <= 0)
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
    } else if (old->sa_handler != SIG_IGN) {
        old->sa_handler(sig);
    }
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    sigjmp_buf *to = landing;
    if (to && info->si_code > 0) {
        landing = NULL;
        siglongjmp(*to, 1);
    }
    pass_on(sig, info, context);
}

void sonde_guard_install(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    // NODEFER because we may leave by a jump; ONSTACK because the fault may be a stack overflow of
    // the target and its own handler may rely on the alternate stack.
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) != 0 || now.sa_sigaction == on_fault)
            continue;
        previous[i] = now;
        installed[i] = sigaction(signals[i], &ours, NULL) == 0;
    }
}

void sonde_guard_remove(void)
{
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        if (installed[i] && sigaction(signals[i], NULL, &now) == 0 && now.sa_sigaction == on_fault)
            sigaction(signals[i], &previous[i], NULL);
        installed[i] = false;
    }
}

bool sonde_guard_run(void (*body)(void *), void *arg)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0))
        return false;
    landing = &here;
    __asm__ volatile("" ::: "memory");
    body(arg);
    __asm__ volatile("" ::: "memory");
    landing = NULL;
    return true;
}
