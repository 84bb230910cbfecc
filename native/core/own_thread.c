#define _GNU_SOURCE
#include "own_thread.h"

#include <signal.h>

int sonde_own_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                     const char *name)
{
    // The target's signals are not for it; faults inside the guard are.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, attributes, body, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_setname_np(*thread, name);
    return error;
}
