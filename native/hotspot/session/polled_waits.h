// Waiting time where perf events are refused: nothing signals a thread after a wait, so a thread of
// the agent's looks now and then at who is off the CPU, and asks JVMTI for the stack.
#ifndef SONDE_HOTSPOT_POLLED_WAITS_H
#define SONDE_HOTSPOT_POLLED_WAITS_H

// 0 or an errno.
int sonde_polled_waits_start(void);
void sonde_polled_waits_stop(void);
void sonde_polled_waits_forked(void);

#endif
