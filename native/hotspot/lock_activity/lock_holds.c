#include "hotspot/lock_activity/lock_holds.h"

#include "hotspot/locks/thread_wait.h"

#include <stdatomic.h>
#include <stddef.h>

#define MAX_METHODS 64u

typedef struct {
    uint64_t id, since;
    jweak lock; // not kept alive, and it moves
    uint32_t again;
    uint32_t waits;   // of the thread for conditions, when it began
    uint32_t methods; // synchronized ones that were entered since
    uint64_t same;    // a bit of each: it has this lock; the innermost is the lowest
    bool of_method;
} hold_t;

static _Thread_local struct {
    uint32_t round;
    hold_t open[SONDE_MAX_OPEN_HOLDS];
} mine __attribute__((tls_model("initial-exec")));
_Thread_local uint32_t sonde_open_holds __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t last_id;

static void remove_at(JNIEnv *env, uint32_t at)
{
    (*env)->DeleteWeakGlobalRef(env, mine.open[at].lock);
    mine.open[at] = mine.open[--sonde_open_holds];
}

static bool is_of(JNIEnv *env, const hold_t *hold, jobject lock)
{
    return (*env)->IsSameObject(env, hold->lock, lock);
}

uint64_t sonde_lock_hold_begin(JNIEnv *env, jobject lock, bool of_method, uint32_t round)
{
    jweak weak =
        sonde_open_holds < SONDE_MAX_OPEN_HOLDS ? (*env)->NewWeakGlobalRef(env, lock) : NULL;
    if (!weak) {
        (*env)->ExceptionClear(env);
        return 0;
    }
    mine.round = round;
    uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    mine.open[sonde_open_holds++] = (hold_t){.id = id,
                                             .since = UINT64_MAX,
                                             .lock = weak,
                                             .waits = sonde_condition_waits,
                                             .of_method = of_method};
    return id;
}

static hold_t *find(uint64_t id)
{
    for (uint32_t i = 0; i < sonde_open_holds; i++)
        if (mine.open[i].id == id)
            return &mine.open[i];
    return NULL;
}

void sonde_lock_hold_set_since(uint64_t id, uint64_t since)
{
    hold_t *hold = find(id);
    if (hold)
        hold->since = since;
}

void sonde_lock_hold_forget(JNIEnv *env, uint64_t id)
{
    hold_t *hold = find(id);
    if (hold)
        remove_at(env, (uint32_t)(hold - mine.open));
}

void sonde_lock_hold_again(JNIEnv *env, jobject lock, bool of_method)
{
    for (uint32_t i = 0; i < sonde_open_holds;) {
        hold_t *hold = &mine.open[i];
        bool same = is_of(env, hold, lock);
        hold->again += same;
        if (of_method && hold->methods == MAX_METHODS) { // its end would not be recognized
            remove_at(env, i);
            continue;
        }
        if (of_method) {
            hold->methods++;
            hold->same = hold->same << 1 | same;
        }
        i++;
    }
}

static bool ends(JNIEnv *env, uint32_t at, sonde_hold_ended ended)
{
    hold_t hold = mine.open[at];
    if (hold.again) {
        mine.open[at].again--;
        return false;
    }
    remove_at(env, at);
    if (hold.waits == sonde_condition_waits) // else it was released in between
        ended(hold.id, hold.since);
    return true;
}

void sonde_lock_hold_release(JNIEnv *env, jobject lock, sonde_hold_ended ended)
{
    for (uint32_t i = 0; i < sonde_open_holds;)
        if (!is_of(env, &mine.open[i], lock) || !ends(env, i, ended))
            i++;
}

void sonde_lock_hold_method_left(JNIEnv *env, sonde_hold_ended ended)
{
    for (uint32_t i = 0; i < sonde_open_holds;) {
        hold_t *hold = &mine.open[i];
        bool same = hold->methods ? hold->same & 1 : hold->of_method;
        if (hold->methods) {
            hold->methods--;
            hold->same >>= 1;
        }
        if (!same || !ends(env, i, ended))
            i++;
    }
}

void sonde_lock_holds_check(JNIEnv *env, uint32_t round)
{
    while (mine.round != round && sonde_open_holds)
        remove_at(env, 0);
}
