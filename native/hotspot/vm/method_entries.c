#define _GNU_SOURCE
#include "hotspot/vm/method_entries.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/vm.h"
#include "hotspot/vm/vm_structs.h"

// A method that was profiled counts in its profile from then on.
static int64_t profile_at, profiles_count_at, counters_at, count_at;

// Of a profile, from the first field behind the counters that the VM exports (methodData.hpp, 17 to
// 25): of entries, of loops, and what each of the two began with.
#define COUNT_BEFORE 16

void sonde_method_entries_prepare(void)
{
    void *vm = sonde_vm_library();
    profile_at = sonde_field_offset(vm, "Method", "_method_data");
    counters_at = sonde_field_offset(vm, "Method", "_method_counters");
    count_at = sonde_field_offset(vm, "MethodCounters", "_invocation_counter");
    int64_t behind = sonde_field_offset(vm, "MethodData", "_tenure_traps");
    profiles_count_at = behind < COUNT_BEFORE ? -1 : behind - COUNT_BEFORE;
}

SONDE_HOT SONDE_FOREIGN uint64_t sonde_method_entries(uintptr_t method)
{
    if (profile_at < 0 || counters_at < 0 || count_at < 0 || profiles_count_at < 0)
        return 0;
    uintptr_t counted = *(const uintptr_t *)(method + (uintptr_t)profile_at);
    uintptr_t at = (uintptr_t)profiles_count_at;
    if (!counted) {
        counted = *(const uintptr_t *)(method + (uintptr_t)counters_at);
        at = (uintptr_t)count_at;
    }
    if (!counted)
        return 0;
    return (uint64_t)(uint32_t)counted << 32 | *(const uint32_t *)(counted + at);
}
