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

#endif
