// Threads of the agent's own, in the target.
#ifndef SONDE_OWN_THREAD_H
#define SONDE_OWN_THREAD_H

#include <pthread.h>

// Begins one that no signal of the target goes to. 0 or an errno.
int sonde_own_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                     const char *name);

#endif
