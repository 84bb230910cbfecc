// Reports names to the recorder: of functions that have no source lines, threads, marks. May be
// called in a signal handler.
#ifndef SONDE_CORE_NAME_RECORDS_H
#define SONDE_CORE_NAME_RECORDS_H

#include "core/session/session.h"

#define SONDE_NAME_MAX 1024

// The id of a function without source lines, known by the address of what defines it (`key`, which
// lives for good), reported at first sight; 0 if that was not possible. `owner` (a type or module
// name) may be NULL.
uint64_t sonde_describe_native(sonde_thread *thread, const void *key, const char *owner,
                               const char *name);

// Reports that the thread known as `object` is called `name` since a time.
bool sonde_write_thread(sonde_ring *ring, uint64_t object, const char *name, uint64_t since);

// Reports the name of the type `id`.
bool sonde_write_type(sonde_ring *ring, uint64_t id, const char *name);

// Reports that something of that name lasted so long from `time` on. Counted as lost if there is no
// room.
void sonde_write_mark(sonde_thread *thread, const char *name, uint64_t time, uint64_t duration_ns);

#endif
