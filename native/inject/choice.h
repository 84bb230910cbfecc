// Which thread of a process to stop.
#ifndef SONDE_CHOICE_H
#define SONDE_CHOICE_H

#include <stdint.h>
#include <sys/types.h>

// Which thread to try as the `number`th; 0 if the process has none.
pid_t sonde_thread_to_try(pid_t pid, uint32_t number);

#endif
