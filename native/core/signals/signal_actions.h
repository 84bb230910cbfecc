// Signal actions: what the kernel has in place, and running another action in its stead.
#ifndef SONDE_CORE_SIGNAL_ACTIONS_H
#define SONDE_CORE_SIGNAL_ACTIONS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // struct sigaction
#endif
#include <signal.h>

// sigaction(2) itself. The preload library answers that name from what the target believes, and a
// call of our own must not get that answer.
int sonde_sigaction(int sig, const struct sigaction *set, struct sigaction *get);

// In our handler of `sig`: does what would have happened had `action` been in place.
void sonde_run_action(struct sigaction *action, int sig, siginfo_t *info, void *context);

#endif
