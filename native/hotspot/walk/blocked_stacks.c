#include "hotspot/walk/blocked_stacks.h"

#include "core/base/hot.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <string.h>

static _Thread_local struct {
    bool waits;
    const void *frame; // of our hook, while it wakes another thread
} blocked __attribute__((tls_model("initial-exec")));

// Room for a word of native code above the Java frames.
#define MAX_KEPT (SONDE_MAX_DEPTH - 2)

void sonde_blocked_save(sonde_thread *me, uint32_t depth, uint8_t flags)
{
    bool whole = !(flags & (SONDE_UNDECODABLE | SONDE_TRUNCATED)) && depth <= MAX_KEPT;
    me->blocked_depth = whole ? depth : 0;
    memcpy(me->blocked, sonde_stack(me), me->blocked_depth * sizeof *me->blocked);
}

void sonde_blocked_begin(void) { blocked.waits = true; }
void sonde_blocked_end(void) { blocked.waits = false; }

void sonde_waking_begin(const void *frame) { blocked.frame = frame; }
void sonde_waking_end(void) { blocked.frame = NULL; }

SONDE_HOT uint32_t sonde_blocked_stack(sonde_thread *me, const void *record, uint32_t above,
                                       sonde_event *event)
{
    uint64_t *out = sonde_stack(me);
    if (blocked.waits && me->blocked_depth) {
        memcpy(out + above, me->blocked, me->blocked_depth * sizeof *out);
        return me->blocked_depth;
    }
    if (!blocked.frame || sonde_vm_state(record) != SONDE_IN_JAVA)
        return 0;
    uint64_t native = out[0];
    sonde_event found = {0};
    uint32_t depth = sonde_stack_below(me, blocked.frame, &found);
    if (depth > MAX_KEPT)
        return 0;
    memmove(out + above, out, depth * sizeof *out);
    out[0] = above ? native : out[0];
    if (depth)
        event->flags |= found.flags;
    return depth;
}
