// The agent's side of the protocol with the recorder. System calls only: also used in a forked
// child of a threaded process, where nothing else is allowed.
#ifndef SONDE_CORE_HANDSHAKE_H
#define SONDE_CORE_HANDSHAKE_H

#include "core/session/shm.h"

#include <stdbool.h>

typedef struct {
    int socket;
    int memfd;
    int timeout_ms; // for an answer; set before sonde_link_open(), 0: depends on the reason
    sonde_config config;
} sonde_link;

// Connects to the session's socket, introduces process `pid` and receives what to do. 0 or an
// errno.
int sonde_link_open(sonde_link *link, const char *path, uint32_t pid, uint32_t reason,
                    uint32_t runtime, uint32_t version_hex);
// Reports that hooks are in place (status 0) and waits until the recorder armed its events.
int sonde_link_ready(sonde_link *link, uint32_t status, sonde_arm *arm);
// Sends a reason that is only confirmed. 0 or an errno.
int sonde_link_notify(const char *path, uint32_t reason);
// Opens a connection that stays: of `link` only the socket is used. `by_itself` if the caller is
// the thread that will hold it, which is not to be sampled.
int sonde_link_control(sonde_link *link, const char *path, bool by_itself);
void sonde_link_close(sonde_link *link);
// Sends a hello with these descriptors, and waits for nothing: EAGAIN if as many connections wait
// for the recorder as may.
int sonde_link_hand_over(const char *path, uint32_t reason, uint32_t runtime, uint32_t version_hex,
                         const int *fds, int count);
#define SONDE_MAX_HANDED_OVER 4
// For a program that can join without an answer, too.
#define SONDE_SOON_MS 1000

#endif
