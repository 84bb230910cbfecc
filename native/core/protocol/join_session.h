// How a process joins a session: the handshake with the recorder, and what it must report during
// the session. The preload library and src/sonde/record call the exported ones by name.
#ifndef SONDE_CORE_JOIN_SESSION_H
#define SONDE_CORE_JOIN_SESSION_H

#include "core/sampling/kernel_events.h"
#include "core/sampling/self_walk.h"
#include "core/signals/signal_handover.h"

#include <signal.h>

typedef struct {
    uint32_t runtime, version_hex;
    sonde_walk_self *walk;
    sonde_find_data *find_data;           // NULL: this runtime's objects are not found by address
    sonde_marked_signals *marked_signals; // NULL: its signal handlers leave no marks
} sonde_runtime_facts;

// Introduces this process to the recorder that listens at `path` and begins the session; the
// recorder has armed every thread when it answers with `arm`. 0 or an errno: then nothing is begun.
int sonde_join_session(const char *path, uint32_t reason, const sonde_runtime_facts *facts,
                       sonde_arm *arm);

// The same for a forked child of a process in a session: without waiting for the recorder where it
// can, and with the hooks of its parent. The parent's memory is given up.
int sonde_join_session_forked(const char *path, const sonde_runtime_facts *facts, sonde_arm *arm);

// Ends what sonde_join_session began; the caller has removed its own hooks.
void sonde_leave_session(void);

// A tick that falls into execve is delivered to the new program, which has no handler and dies of
// it (seen on 6.18 in two of three cases: remove_on_exec takes the event away too late). So the
// events are closed before, and armed again should the target still be here afterwards. Both may be
// called after vfork, where the process is not the one that is sampled.
void sonde_agent_before_exec(void);
void sonde_agent_exec_failed(void);

// The action that the target believes a signal of ours to have; 0 if it is none of ours.
int sonde_agent_signal_action(int sig, const struct sigaction *set, struct sigaction *get);

int sonde_agent_active(void);

// The path of the recorder's socket for agents; "" if there was no session yet.
const char *sonde_session_socket(void);

// Sends the recorder a reason that is only confirmed.
void sonde_agent_notify(uint32_t reason);

#endif
