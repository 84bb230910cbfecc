// Which signals the target has blocked, and which it believes to have blocked.
#ifndef SONDE_MASK_H
#define SONDE_MASK_H

#include <stdbool.h>

// From now on SIGTRAP is open. By the thread that starts the agent, before there are others.
void sonde_mask_begin(void);

#endif
