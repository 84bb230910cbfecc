// Joining a session without waiting for the recorder: the process makes the shared memory and opens
// its perf events itself, sends the descriptors, and goes on. They wait in the recorder's socket
// until it has time; what happens meanwhile is in the rings.
//
// System calls only, as in handshake.h.
#ifndef SONDE_CORE_SELF_ARM_H
#define SONDE_CORE_SELF_ARM_H

#include "core/session/session.h"

// Whether a process may do so with this configuration: `arm` is how its parent was armed, or how
// the recorder would arm it. Other samplers, calls and kernel events need the recorder first.
bool sonde_can_self_arm(const sonde_config *config, const sonde_orders *orders,
                        const sonde_arm *arm);

typedef struct {
    const char *path; // of the recorder's socket
    uint32_t reason, runtime, version_hex;
} sonde_self_hello;

// Begins the session, arms the calling thread and those that it starts, and sends the descriptors.
// Never waits. 0 or an errno: then nothing is begun.
int sonde_self_arm(const sonde_config *config, const sonde_orders *orders, const sonde_arm *arm,
                   const sonde_self_hello *hello);

#endif
