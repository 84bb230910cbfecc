#define _GNU_SOURCE
#include "hotspot/instrument/flow_calls.h"

#include "core/base/clock.h"
#include "core/session/session.h"
#include "hotspot/instrument/flow_threads.h"
#include "hotspot/instrument/flow_training.h"
#include "hotspot/instrument/method_numbers.h"
#include "hotspot/names/methods.h"
#include "hotspot/rewrite/class_filter.h"

// ---- methods: the key of a context is the number of its method

static uint64_t key_of(jint number) { return (uint64_t)((uint32_t)number + UINT64_C(1)) << 4; }

static uint64_t describe(uint64_t key)
{
    jmethodID method = sonde_method_numbered((uint32_t)(key >> 4) - 1);
    sonde_thread *me = method ? sonde_enter() : NULL;
    if (!me)
        return 0;
    sonde_id_cache_refresh(me);
    uint64_t id = sonde_method_id(me, method);
    sonde_leave(me);
    return id;
}

// ---- the calls. The metric is read first, and by the tree last.

static inline void enter(JNIEnv *env, jint number, uint64_t thread, uint64_t now)
{
    sonde_flow_carrier *carrier;
    sonde_flow_thread *at = sonde_flow_thread_at(env, thread, now, &carrier);
    if (!at)
        return;
    sonde_flow_enter(at, key_of(number), SONDE_FLOW_START, now);
    sonde_flow_thread_done(carrier, at, false);
}

// Calls inside of this one that an exception ended without a word: of constructors that had called
// another one, in which no handler can be.
static inline void end_others(sonde_flow_thread *thread, uint64_t key)
{
    sonde_flow_node *nodes = sonde_flow.nodes;
    uint32_t at = thread->cur;
    if (__builtin_expect(nodes[at].key == key || thread->over, 1))
        return;
    while (at != thread->root && nodes[at].key != key)
        at = nodes[at].parent;
    if (at == thread->root)
        return;
    for (uint32_t ended = thread->cur; ended != at; ended = nodes[ended].parent)
        nodes[ended].exceptions++;
    thread->cur = at;
}

static inline void leave(JNIEnv *env, jint number, uint64_t thread, uint32_t kind, uint64_t now)
{
    sonde_flow_carrier *carrier;
    sonde_flow_thread *at = sonde_flow_thread_at(env, thread, now, &carrier);
    if (!at)
        return;
    end_others(at, key_of(number));
    sonde_flow_leave(at, key_of(number), kind, now);
    sonde_flow_thread_done(carrier, at, true);
}

static void JNICALL on_enter(JNIEnv *env, jclass class, jint number, jlong thread)
{
    (void)class;
    enter(env, number, (uint64_t)thread, __rdtsc());
}

static void JNICALL on_leave(JNIEnv *env, jclass class, jint number, jlong thread)
{
    (void)class;
    leave(env, number, (uint64_t)thread, SONDE_FLOW_RETURN, __rdtsc());
}

static void JNICALL on_unwind(JNIEnv *env, jclass class, jint number, jlong thread)
{
    (void)class;
    leave(env, number, (uint64_t)thread, SONDE_FLOW_UNWIND, __rdtsc());
}

static void JNICALL on_catch(JNIEnv *env, jclass class, jint number, jlong thread)
{
    (void)class;
    uint64_t now = __rdtsc();
    sonde_flow_carrier *carrier;
    sonde_flow_thread *at = sonde_flow_thread_at(env, (uint64_t)thread, now, &carrier);
    if (!at)
        return;
    end_others(at, key_of(number));
    sonde_flow_pass(at, SONDE_FLOW_THROW, now);
    sonde_flow_thread_done(carrier, at, false);
}

void sonde_flow_set_natives(sonde_call_natives *natives)
{
    natives->enter = on_enter;
    natives->leave = on_leave;
    natives->unwind = on_unwind;
    natives->caught = on_catch;
}

// ---- which methods

static sonde_class_filter filter; // --flow-in

bool sonde_flow_wants(const char *class_name)
{
    return sonde_class_filter_wants(&filter, class_name);
}

void sonde_flow_choose(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit)
{
    if (!sonde_class_filter_wants_method(&filter, method))
        return;
    edit->number = sonde_method_number(id);
    edit->calls = edit->number != SONDE_NO_NUMBER;
}

// ---- beginning and end

static void state_clock(sonde_flow_header *header)
{
    uint64_t tick = __rdtsc(), ns = sonde_now(), ticks, passed;
    do { // 5 ms of a clock that is right to some 50 ns
        ticks = __rdtsc() - tick;
        passed = sonde_now() - ns;
    } while (passed < 5000000);
    header->ns_per_tick = (double)passed / (double)ticks;
    header->start_tick = tick;
    header->start_ns = ns;
}

static sonde_flow_header *header_of(void) { return (sonde_flow_header *)sonde.flow; }

bool sonde_flow_wanted(void) { return sonde.flow && (sonde.config.what & SONDE_WHAT_FLOW); }

bool sonde_flow_prepare(JNIEnv *env, bool possible)
{
    sonde_flow_header *header = header_of();
    uint32_t length = header->within_length;
    sonde_class_filter_set(&filter, header->within,
                           length < SONDE_FLOW_WITHIN ? length : SONDE_FLOW_WITHIN);
    atomic_store(&header->state, SONDE_FLOW_FAILED);
    if (!possible || !sonde_flow_threads_start(env))
        return false;
    double residual = 0;
    bool calibrated = sonde_flow_train(env, &residual);
    header->residual = residual;
    atomic_store(&header->calibrated, calibrated);
    state_clock(header);
    if (!sonde_flow_begin(header, sonde.flow_size)) {
        sonde_flow_threads_stop();
        return false;
    }
    sonde_flow.describe = describe;
    sonde_flow.hold = NULL;
    return true;
}

void sonde_flow_started(bool started)
{
    if (started)
        atomic_store(&header_of()->state, SONDE_FLOW_RECORDED);
    else
        sonde_flow_stop();
}

void sonde_flow_stop(void)
{
    sonde_flow_threads_stop();
    sonde_flow_end(NULL);
}

void sonde_flow_forked(void)
{
    sonde_flow_threads_forked();
    sonde_flow_forget();
}
