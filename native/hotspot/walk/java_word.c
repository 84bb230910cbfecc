#include "hotspot/walk/java_word.h"

#include "core/session/name_records.h"
#include "hotspot/names/methods.h"

uint64_t sonde_java_word(sonde_thread *thread, const sonde_java_frame *frame)
{
    // The class was loaded, but its methods got no ids yet: see jvmti_events.c.
    static const uint64_t without_id;
    if (!frame->method)
        return sonde_describe_native(thread, &without_id, NULL, "[method of a class just loaded]")
               << SONDE_INSTR_BITS;
    uint64_t id = sonde_method_id(thread, frame->method);
    uint64_t index = frame->bci < 0 ? 0 : (uint64_t)frame->bci + 1;
    return id << SONDE_INSTR_BITS | (id ? index & SONDE_INSTR_MASK : 0);
}
