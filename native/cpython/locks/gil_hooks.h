// The hooks for the GIL. It waits in pthread_cond_timedwait on its own condition, in slices of the
// switch interval, and is released with pthread_cond_signal under its mutex. Distinguished by
// address: link-time optimisation moves the call sites about.
#ifndef SONDE_CPYTHON_GIL_HOOKS_H
#define SONDE_CPYTHON_GIL_HOOKS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

int sonde_gil_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int sonde_gil_signal(pthread_cond_t *cond);
int sonde_gil_lock(pthread_mutex_t *mutex);
int sonde_gil_unlock(pthread_mutex_t *mutex);

// Whether stacks may be walked before their event happens; only while all of these hooks are in
// place.
void sonde_gil_draft(bool on);

#endif
