// Waits that were seen to begin and have not ended yet.
#ifndef SONDE_HOTSPOT_WAIT_REGISTRY_H
#define SONDE_HOTSPOT_WAIT_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

// A wait begins; its place, to be passed to sonde_wait_registry_remove when it is over.
uint32_t sonde_wait_registry_add(uint64_t lock);
#define SONDE_NO_PLACE UINT32_MAX
void sonde_wait_registry_remove(uint32_t place);

// Has a thread waited for `lock` so long that its holder should be reported? Marks it as done.
bool sonde_wait_registry_is_due(uint64_t lock, uint64_t now);
bool sonde_wait_registry_any_due(uint64_t now);
// Is there a wait for `lock` that was seen to begin, and will report its end itself?
bool sonde_wait_registry_has(uint64_t lock);

#endif
