// Threads in Object.wait, by the VM's own records.
#ifndef SONDE_HOTSPOT_MONITOR_WAITERS_H
#define SONDE_HOTSPOT_MONITOR_WAITERS_H

#include "hotspot/locks/notifications.h"

// What the VM keeps of a thread, whose record this is, in Object.wait: it lies on its stack, above
// `frame` of a function which the VM has called to sleep. False: not found.
bool sonde_monitor_waiter(sonde_condition_waiter *waiter, const void *record, const void *frame);
sonde_was_notified sonde_monitor_was_notified;

#endif
