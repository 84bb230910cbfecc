// The target may block every signal, but SIGTRAP stays open beneath: it only believes otherwise.
//
// Blocked, a tick would stay pending for everybody to see, sigwait would return it to a program
// that waits for any signal, and the thread's time would be charged to wherever it opens its mask
// again.
#define _GNU_SOURCE
#include "preload/mask.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef int change_mask(int, const sigset_t *, sigset_t *);

static bool active;
// What the thread believes. initial-exec: masks are changed in signal handlers too. A new thread
// has its creator's mask but not its belief, which shows only to one who asks for SIGTRAP alone.
static _Thread_local bool believed __attribute__((tls_model("initial-exec")));

static int change(change_mask *real, int how, const sigset_t *set, sigset_t *old)
{
    if (!active)
        return real(how, set, old);
    bool before = believed, asked = set && sigismember(set, SIGTRAP) == 1;
    sigset_t open;
    if (set) {
        open = *set;
        sigdelset(&open, SIGTRAP);
    }
    int result = real(how, set ? &open : NULL, old);
    if (result)
        return result;
    if (old && before)
        sigaddset(old, SIGTRAP);
    if (set && (asked || how == SIG_SETMASK))
        believed = asked && how != SIG_UNBLOCK;
    return 0;
}

void sonde_mask_begin(void)
{
    sigset_t now, trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    change_mask *real = (change_mask *)dlsym(RTLD_NEXT, "pthread_sigmask");
    if (!real || real(SIG_UNBLOCK, &trap, &now))
        return;
    believed = sigismember(&now, SIGTRAP) == 1;
    active = true;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static change_mask *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_sigmask");
    return change(real, how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    static change_mask *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigprocmask");
    return change(real, how, set, old);
}
