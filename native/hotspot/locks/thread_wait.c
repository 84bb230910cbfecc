#include "hotspot/locks/thread_wait.h"

#include "hotspot/locks/virtual_monitors.h"
#include "hotspot/locks/wait_registry.h"

_Thread_local sonde_thread_wait sonde_current_wait;
_Thread_local sonde_contended sonde_contended_monitor;
_Thread_local uint32_t sonde_condition_waits;

// Where it cannot leave, which is found out only when it has tried, its carrier sleeps for it. One
// that is back may find the monitor taken, and leave again without an event.
void sonde_lock_carrier_left(void) { sonde_current_wait.lock = sonde_current_wait.again = 0; }

void sonde_lock_carrier_taken(uint64_t number)
{
    uint32_t kind = 0;
    uint64_t lock = sonde_virtual_leaves(number) ? sonde_virtual_monitor_of(number, &kind) : 0;
    if (lock) {
        sonde_current_wait.place = SONDE_NO_PLACE;
        sonde_current_wait.kind = kind;
        sonde_current_wait.lock = lock;
    }
}
