// Writes lock events: what a thread of the interpreter waits for, and which one releases or holds
// it.
#ifndef SONDE_CPYTHON_LOCK_EVENTS_H
#define SONDE_CPYTHON_LOCK_EVENTS_H

#include "core/session/session.h"
#include "cpython/locks/lock_owner.h"

#include <stdbool.h>
#include <stdint.h>

// Writes one event of the calling thread; with the stack where the type has one. A release takes
// its number (sonde_lock_sequence) before it happens, so that it comes before what the next holder
// reports. False if locks are not recorded at the moment; the end of a wait is reported all the
// same.
bool sonde_lock_report(uint8_t type, uint32_t kind, uint64_t lock, uint64_t sequence,
                       uint64_t time);

// The same in two steps: a thread that must not be delayed later walks its stack before, and adds
// then what it does not know yet. False if it must be reported as a whole, or not at all. Between
// the steps the thread counts as entered (sonde_enter).
typedef struct {
    sonde_thread *thread;
    sonde_rec_lock *record; // NULL: there was no room
    uint8_t type;
} sonde_lock_draft;
bool sonde_lock_prepare(sonde_lock_draft *draft, uint8_t type, uint32_t kind, uint64_t lock);
void sonde_lock_commit(const sonde_lock_draft *draft, uint64_t sequence, uint64_t time);
void sonde_lock_drop(const sonde_lock_draft *draft); // it did not happen

// Reports the lock holder, as it was at some moment after `since`, if it can be found.
enum sonde_owner_answer sonde_lock_report_owner(uint32_t kind, uint64_t lock, uint64_t since);
// The same into the ring of `as`, which the caller has entered.
enum sonde_owner_answer sonde_lock_report_owner_as(sonde_thread *as, uint32_t kind, uint64_t lock,
                                                   uint64_t since);
// A whole wait at its end.
void sonde_lock_report_wait(uint32_t kind, uint64_t lock, uint64_t started, uint64_t sequence,
                            uint64_t time);

#endif
