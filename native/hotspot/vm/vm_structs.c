#define _GNU_SOURCE
#include "hotspot/vm/vm_structs.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

// The table describes itself: how far apart its entries are, and where each part of one lies
// (vmStructs.cpp, 17 to 25). It ends with an entry that has no type.
static uint64_t exported(void *libjvm, const char *name)
{
    const uint64_t *value = dlsym(libjvm, name);
    return value ? *value : 0;
}

static const char *entry_of(void *libjvm, const char *type, const char *field, bool is_static)
{
    const char *const *table = dlsym(libjvm, "gHotSpotVMStructs");
    uint64_t stride = exported(libjvm, "gHotSpotVMStructEntryArrayStride");
    if (!table || !*table || !stride)
        return NULL;
    uint64_t type_at = exported(libjvm, "gHotSpotVMStructEntryTypeNameOffset");
    uint64_t field_at = exported(libjvm, "gHotSpotVMStructEntryFieldNameOffset");
    uint64_t static_at = exported(libjvm, "gHotSpotVMStructEntryIsStaticOffset");
    for (const char *entry = *table;; entry += stride) {
        const char *of = *(const char *const *)(entry + type_at);
        const char *name = *(const char *const *)(entry + field_at);
        if (!of || !name)
            return NULL;
        if (strcmp(of, type) == 0 && strcmp(name, field) == 0)
            return !*(const int32_t *)(entry + static_at) == !is_static ? entry : NULL;
    }
}

int64_t sonde_field_offset(void *libjvm, const char *type, const char *field)
{
    const char *entry = entry_of(libjvm, type, field, false);
    uint64_t at = exported(libjvm, "gHotSpotVMStructEntryOffsetOffset");
    return entry ? (int64_t)*(const uint64_t *)(entry + at) : -1;
}

const void *sonde_static_field(void *libjvm, const char *type, const char *field)
{
    const char *entry = entry_of(libjvm, type, field, true);
    uint64_t at = exported(libjvm, "gHotSpotVMStructEntryAddressOffset");
    return entry ? *(const void *const *)(entry + at) : NULL;
}

uint64_t sonde_type_size(void *libjvm, const char *type)
{
    const char *const *table = dlsym(libjvm, "gHotSpotVMTypes");
    uint64_t stride = exported(libjvm, "gHotSpotVMTypeEntryArrayStride");
    uint64_t name_at = exported(libjvm, "gHotSpotVMTypeEntryTypeNameOffset");
    uint64_t size_at = exported(libjvm, "gHotSpotVMTypeEntrySizeOffset");
    const char *name;
    for (const char *entry = table && stride ? *table : NULL;
         entry && (name = *(const char *const *)(entry + name_at)); entry += stride)
        if (strcmp(name, type) == 0)
            return *(const uint64_t *)(entry + size_at);
    return 0;
}
