#include "hotspot/names/types.h"

#include "core/session/name_records.h"
#include "hotspot/names/demangle.h"

#include <string.h>

static const struct {
    char letter;
    const char *name;
} primitive[] = {
    {'Z', "boolean"}, {'B', "byte"}, {'C', "char"},  {'S', "short"},
    {'I', "int"},     {'J', "long"}, {'F', "float"}, {'D', "double"},
};

// `[[Ljava/lang/String;` is java.lang.String[][].
static void readable(const char *signature, char *to, size_t room)
{
    size_t depth = strspn(signature, "["), length = 0;
    const char *element = signature + depth;
    for (size_t i = 0; i < sizeof primitive / sizeof *primitive; i++)
        if (depth && *element == primitive[i].letter && !element[1]) {
            length = strlen(primitive[i].name);
            memcpy(to, primitive[i].name, length);
        }
    if (!length)
        length = sonde_class_name(element, to, room / 2);
    for (; depth && length + 3 < room; depth--, length += 2)
        memcpy(to + length, "[]", 2);
    to[length] = 0;
}

uint64_t sonde_type_of(sonde_thread *thread, jvmtiEnv *jvmti, jclass class)
{
    static _Atomic uint32_t last;
    jlong tag = 0;
    // Reported in this session, not in one before?
    uint64_t session = (uint64_t)atomic_load(&sonde.generation) << 32;
    if ((*jvmti)->GetTag(jvmti, class, &tag) == 0 && tag && ((uint64_t)tag ^ session) >> 32 == 0)
        return (uint64_t)tag;
    char *signature = NULL, name[SONDE_NAME_MAX];
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL))
        return 0;
    readable(signature, name, sizeof name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    // Two threads may report the same class at the same time: two ids of one name.
    uint64_t id = session | (uint32_t)(atomic_fetch_add(&last, 1) + 1);
    if (!sonde_write_type(&thread->ring, id, name))
        return 0;
    (*jvmti)->SetTag(jvmti, class, (jlong)id);
    return id;
}
