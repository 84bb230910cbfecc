// Waiting time where perf events are refused: no signal reaches a thread after a wait, so a thread
// of the agent's checks now and then which threads are off CPU, and asks JVMTI for the stack.
#ifndef SONDE_HOTSPOT_POLLED_WAITS_H
#define SONDE_HOTSPOT_POLLED_WAITS_H

// 0 or an errno.
int sonde_polled_waits_start(void);
void sonde_polled_waits_stop(void);
void sonde_polled_waits_forked(void);

#endif
