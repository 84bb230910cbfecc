#define _GNU_SOURCE
#include "hotspot/instrument/flow_calls.h"

#include "core/base/clock.h"
#include "core/session/session.h"
#include "hotspot/instrument/flow_classes.h"
#include "hotspot/instrument/flow_threads.h"
#include "hotspot/instrument/flow_training.h"
#include "hotspot/instrument/instrumentation.h"
#include "hotspot/instrument/method_numbers.h"
#include "hotspot/names/methods.h"

static bool running;

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

static void JNICALL on_integer(JNIEnv *env, jclass class, jlong value, jint number)
{
    (void)env;
    (void)class;
    (void)value;
    (void)number;
}

static void JNICALL on_real(JNIEnv *env, jclass class, jdouble value, jint number)
{
    (void)env;
    (void)class;
    (void)value;
    (void)number;
}

static void JNICALL on_object(JNIEnv *env, jclass class, jobject value, jint number)
{
    (void)env;
    (void)class;
    (void)value;
    (void)number;
}

static void JNICALL on_pass(JNIEnv *env, jclass class, jint number)
{
    (void)env;
    (void)class;
    (void)number;
}

static const sonde_call_natives natives = {on_enter,   on_leave, on_unwind, on_catch,
                                           on_integer, on_real,  on_object, on_pass};

// ---- which methods

static void choose(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit)
{
    if (!sonde_flow_wants_method(method))
        return;
    edit->number = sonde_method_number(id);
    edit->calls = edit->number != SONDE_NO_NUMBER;
}

static void refused(const sonde_method_edit *edit, const char *why)
{
    (void)edit;
    (void)why;
}

static const sonde_instrument instrument = {sonde_flow_wants_class, choose, refused};

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

void sonde_flow_start(JNIEnv *env)
{
    if (!(sonde.config.what & SONDE_WHAT_FLOW) || !sonde.flow || running)
        return;
    sonde_flow_header *header = (sonde_flow_header *)sonde.flow;
    uint32_t length = header->within_length;
    sonde_flow_classes_set(header->within, length < SONDE_FLOW_WITHIN ? length : SONDE_FLOW_WITHIN);
    atomic_store(&header->state, SONDE_FLOW_FAILED);
    running = sonde_instrumentation_prepare(env, &natives) == 0 && sonde_flow_threads_start(env);
    if (!running)
        return;
    double residual = 0;
    bool calibrated = sonde_flow_train(env, &residual);
    header->residual = residual;
    atomic_store(&header->calibrated, calibrated);
    state_clock(header);
    if (!sonde_flow_begin(header, sonde.flow_size)) {
        sonde_flow_stop(env);
        return;
    }
    sonde_flow.describe = describe;
    sonde_flow.hold = NULL;
    if (sonde_instrumentation_start(env, &instrument) == 0)
        atomic_store(&header->state, SONDE_FLOW_RECORDED);
    else
        sonde_flow_stop(env);
}

void sonde_flow_stop(JNIEnv *env)
{
    if (!running)
        return;
    running = false;
    if (env)
        sonde_instrumentation_stop(env);
    sonde_flow_threads_stop();
    sonde_flow_end(NULL);
}

void sonde_flow_forked(void)
{
    if (!running)
        return;
    running = false;
    sonde_flow_threads_forked();
    sonde_flow_forget();
}
