// Waits that go on: those that were seen to begin, and those that were found when the recording
// began.
#ifndef SONDE_HOTSPOT_WAIT_REGISTRY_H
#define SONDE_HOTSPOT_WAIT_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

// A wait begins; what to give back when it is over.
uint32_t sonde_wait_registry_add(uint64_t lock);
#define SONDE_NO_PLACE UINT32_MAX
void sonde_wait_registry_remove(uint32_t place);

// Does anybody wait for `lock` so long that its holder should be told? Marks it as done.
bool sonde_wait_registry_is_due(uint64_t lock, uint64_t now);
bool sonde_wait_registry_any_due(uint64_t now);
// Is there a wait for `lock` that was seen to begin, and will tell its end itself?
bool sonde_wait_registry_has(uint64_t lock);

// A wait for `key` was found. False if there is no room.
bool sonde_add_preexisting_wait(const void *key);
void sonde_forget_preexisting_waits(void);
// Was a wait for `lock` found when the recording began, and has not ended yet?
bool sonde_take_preexisting_wait(uint64_t lock);
// An owner has let go: waits for `key` that will not tell their end themselves are over.
void sonde_end_preexisting_wait(const void *key);

#endif
