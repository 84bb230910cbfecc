// The processor that the calling thread runs on; may be asked in a signal handler.
#ifndef SONDE_CORE_PROCESSOR_H
#define SONDE_CORE_PROCESSOR_H

#include <sched.h>
#include <stdint.h>

// As in a record: its number + 1, 0 if unknown. No system call: glibc reads it from the memory that
// the kernel keeps for restartable sequences (glibc 2.35, Linux 4.18), or asks the vDSO.
static inline uint32_t sonde_processor(void)
{
    int number = sched_getcpu();
    return number < 0 ? 0 : (uint32_t)number + 1;
}

#endif
