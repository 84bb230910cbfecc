#define _GNU_SOURCE
#include "structs.h"

#include <dlfcn.h>
#include <string.h>

// The table describes itself: how far apart its entries are, and where each part of one lies
// (vmStructs.cpp, 17 to 25). It ends with an entry that has no type.
static uint64_t told(void *libjvm, const char *name)
{
    const uint64_t *value = dlsym(libjvm, name);
    return value ? *value : 0;
}

int64_t sonde_field_offset(void *libjvm, const char *type, const char *field)
{
    const char *const *table = dlsym(libjvm, "gHotSpotVMStructs");
    uint64_t stride = told(libjvm, "gHotSpotVMStructEntryArrayStride");
    if (!table || !*table || !stride)
        return -1;
    uint64_t type_at = told(libjvm, "gHotSpotVMStructEntryTypeNameOffset");
    uint64_t field_at = told(libjvm, "gHotSpotVMStructEntryFieldNameOffset");
    uint64_t static_at = told(libjvm, "gHotSpotVMStructEntryIsStaticOffset");
    uint64_t offset_at = told(libjvm, "gHotSpotVMStructEntryOffsetOffset");
    for (const char *entry = *table;; entry += stride) {
        const char *of = *(const char *const *)(entry + type_at);
        const char *name = *(const char *const *)(entry + field_at);
        if (!of || !name)
            return -1;
        if (strcmp(of, type) == 0 && strcmp(name, field) == 0)
            return *(const int32_t *)(entry + static_at)
                       ? -1
                       : (int64_t)*(const uint64_t *)(entry + offset_at);
    }
}
