#define _GNU_SOURCE
#include "hotspot/session/allocation_samples.h"

#include "core/base/clock.h"
#include "core/session/records.h"
#include "hotspot/names/types.h"
#include "hotspot/session/object_ends.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/walk.h"

#include <errno.h>
#include <string.h>

// Bytes between two samples, on average. The VM draws them from a geometric distribution, so an
// object of n bytes is sampled with probability 1 - exp(-n / EVERY), whatever was before it.
#define EVERY (512 << 10)

// Stays for good, as that of the locks.
static jvmtiEnv *objects_jvmti;

static void JNICALL on_made(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                            jclass class, jlong size)
{
    (void)env;
    (void)thread;
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (me && !(sonde_what() & SONDE_WHAT_OBJECTS)) { // not just now
        sonde_leave(me);
        me = NULL;
    }
    if (me) {
        uint64_t began = sonde_thread_cpu();
        sonde_hotspot_identify(me);
        sonde_event stack = {0};
        sonde_rec_object made = {.time = sonde_now(), .size = (uint64_t)size, .every = EVERY};
        made.type = sonde_type_of(me, jvmti, class);
        uint32_t depth = sonde_stack_of(me, jvmti, NULL, &stack);
        made.rec.flags = stack.flags;
        made.id = sonde_object_ends_follow(object);
        sonde_write_object(me, depth, &made);
        sonde_object_ends_flush(me);
        sonde_object_time_spent(me, began);
        sonde_leave(me);
    }
    errno = saved;
}

int sonde_objects_start(void)
{
    if (!objects_jvmti &&
        (*sonde_vm.vm)->GetEnv(sonde_vm.vm, (void **)&objects_jvmti, JVMTI_VERSION_11) != JNI_OK)
        return ENOTSUP;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_generate_sampled_object_alloc_events = 1;
    wanted.can_tag_objects = 1;
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.SampledObjectAlloc = on_made;
    jvmtiEnv *jvmti = objects_jvmti;
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) ||
        (*jvmti)->SetHeapSamplingInterval(jvmti, EVERY) ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
                                           NULL))
        return ENOTSUP;
    // Without it allocations are recorded all the same, each with the id 0.
    sonde_object_ends_start();
    return 0;
}

void sonde_objects_stop(void)
{
    jvmtiEnv *jvmti = objects_jvmti;
    jvmtiCapabilities had;
    if (!jvmti)
        return;
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
                                       NULL);
    if ((*jvmti)->GetCapabilities(jvmti, &had) == 0)
        (*jvmti)->RelinquishCapabilities(jvmti, &had);
    sonde_object_ends_stop();
}
