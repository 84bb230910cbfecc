// Waits that began before the session, by what they wait for.
//
// Their threads passed none of our hooks on the way into the wait, so they do not report its end:
// the release of what they wait for does. Entries are added before other threads can see them, then
// only counted down, without a lock.
#ifndef SONDE_CORE_PREEXISTING_TABLE_H
#define SONDE_CORE_PREEXISTING_TABLE_H

#include <stdbool.h>

// One more wait for `key`. False if there is no room. One caller at a time.
bool sonde_add_preexisting_wait(const void *key);

// Takes out one wait for `key`; false if there is none.
bool sonde_take_preexisting_wait(const void *key);

// `key` is released: if a wait for it was taken out, that is over in waiter_table.h as well.
void sonde_end_preexisting_wait(const void *key);

// Ends all that are left, before those of a new session are added.
void sonde_forget_preexisting_waits(void);

#endif
