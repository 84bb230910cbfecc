// Java stacks of threads that wait for a monitor, or release one to another. They are deep in the
// VM then, and HotSpot's walker for profilers does not find the way out of it where compiled code
// called. But the event of the wait has the stack already, and a releasing thread passes our hook.
#ifndef SONDE_HOTSPOT_BLOCKED_STACKS_H
#define SONDE_HOTSPOT_BLOCKED_STACKS_H

#include "core/session/records.h"

// The calling thread begins to wait, with the stack in sonde_stack.
void sonde_blocked_save(sonde_thread *me, uint32_t depth, uint8_t flags);
// From now on it waits, and its Java frames do not change; until now it did.
void sonde_blocked_begin(void);
void sonde_blocked_end(void);

// Around a call that wakes another thread, in a function that the VM has called: its frame.
void sonde_waking_begin(const void *frame);
void sonde_waking_end(void);

// In a signal handler, with the VM's record of the calling thread. Puts the Java frames of such a
// moment into sonde_stack, after the words that are there `above` them: their number, or 0.
uint32_t sonde_blocked_stack(sonde_thread *me, const void *record, uint32_t above,
                             sonde_event *event);

#endif
