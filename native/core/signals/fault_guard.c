#define _GNU_SOURCE
#include "core/signals/fault_guard.h"

#include "core/base/hot.h"
#include "core/signals/signal_actions.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static const int signals[2] = {SIGSEGV, SIGBUS};

// The handlers to pass a fault on to. More than one where a program that records itself set a
// handler while ours was in place (faulthandler.enable()): we go above it again. As it may pass
// back to us what it cannot handle, the handler before us must stay known, too. The last one is the
// newest.
#define MAX_BELOW 4
static struct sigaction below[2][MAX_BELOW];
static int levels[2];
static bool installed[2];
static _Atomic bool installing;

// initial-exec: a general-dynamic TLS access may allocate on first use, in a handler.
#define LOCAL static _Thread_local __attribute__((tls_model("initial-exec")))
LOCAL sigjmp_buf *landing;
LOCAL int passing; // level + 1 of the handler that has the fault now; one that jumps leaves it set
LOCAL const siginfo_t *passed;
LOCAL uintptr_t passed_at; // the stack then
LOCAL uintptr_t last_address;
LOCAL unsigned repeated;

// A handler that puts back what it found (us) and returns, so that the fault happens again, would
// get it from us for ever. One that mends faults does not mend the same one so often in a row.
#define MAX_REPEATED 1000

static void pass_on(int sig, siginfo_t *info, void *context)
{
    int i = sig == SIGBUS;
    // Given back by the one we passed it to: called with the same words from deeper in the stack,
    // or raised again.
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    bool back = passing && ((info == passed && here < passed_at) || info->si_code <= 0);
    int level = back ? passing - 2 : levels[i] - 1;
    if (info->si_code > 0) {
        repeated = (uintptr_t)info->si_addr == last_address ? repeated + 1 : 0;
        last_address = (uintptr_t)info->si_addr;
        if (repeated > MAX_REPEATED)
            level = 0;
    }
    if (level < 0)
        level = 0;
    int outer = passing;
    passing = level + 1;
    passed = info;
    passed_at = here;
    sonde_run_action(&below[i][level], sig, info, context);
    passing = outer;
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
        if (sonde_sigaction(signals[i], NULL, &now) != 0)
            continue;
        if (now.sa_sigaction != on_fault) {
            if (levels[i] == MAX_BELOW)
                continue;
            below[i][levels[i]++] = now;
            if (sonde_sigaction(signals[i], &ours, NULL) != 0) {
                levels[i]--;
                continue;
            }
        }
        installed[i] = true;
    }
}

void sonde_guard_remove(void)
{
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        if (installed[i] && sonde_sigaction(signals[i], NULL, &now) == 0 &&
            now.sa_sigaction == on_fault)
            sonde_sigaction(signals[i], &below[i][--levels[i]], NULL);
        installed[i] = false;
    }
}

// A handler that was set over ours would take a fault of a body for the program's own.
bool sonde_guard_in_place(void)
{
    struct sigaction now;
    if (sonde_sigaction(SIGSEGV, NULL, &now) != 0)
        return false;
    if (now.sa_sigaction == on_fault)
        return true;
    if (!installed[0] || atomic_exchange(&installing, true))
        return false;
    sonde_guard_install();
    atomic_store(&installing, false);
    return sonde_sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_fault;
}

bool sonde_guard_run(void (*body)(void *), void *arg)
{
    return sonde_guard_in_place() && sonde_guard_run_unchecked(body, arg);
}

SONDE_HOT bool sonde_guard_run_unchecked(void (*body)(void *), void *arg)
{
    sigjmp_buf here;
    // A sample may be taken while this thread is inside another body.
    sigjmp_buf *volatile outer = landing;
    if (sigsetjmp(here, 0)) {
        landing = outer;
        return false;
    }
    landing = &here;
    __asm__ volatile("" ::: "memory");
    body(arg);
    __asm__ volatile("" ::: "memory");
    landing = outer;
    return true;
}

bool sonde_guard_user_action(int sig, const struct sigaction *set, struct sigaction *get)
{
    int i = sig == SIGBUS;
    if ((sig != SIGSEGV && sig != SIGBUS) || !installed[i])
        return false;
    struct sigaction *users = &below[i][levels[i] - 1], had = *users;
    if (set)
        *users = *set;
    if (get)
        *get = had;
    return true;
}

bool sonde_guard_works_here(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGSEGV) &&
           !sigismember(&blocked, SIGBUS);
}
