#define _GNU_SOURCE
#include "hotspot/instrument/flow_training.h"

#include "core/base/clock.h"
#include "core/flow/flow_costs.h"
#include "hotspot/instrument/call_class.h"
#include "hotspot/instrument/flow_threads.h"

#include <sys/mman.h>

#define NODES 1024u
// Rounds of a run, and how long runs go on: the compilers need some time.
#define ROUNDS 2000
#define TRAINING_NS 120000000u
#define ENOUGH 1000u
#define CHECKS 16

static bool train(JNIEnv *env, jclass class, const char *name, uint64_t ns)
{
    jmethodID method = (*env)->GetStaticMethodID(env, class, name, "(I)V");
    uint64_t began = sonde_now();
    do {
        if (method)
            (*env)->CallStaticVoidMethod(env, class, method, (jint)ROUNDS);
    } while (method && !(*env)->ExceptionCheck(env) && sonde_now() - began < ns);
    bool done = method && !(*env)->ExceptionCheck(env);
    (*env)->ExceptionClear(env);
    return done;
}

// What is left per event in the run that was disturbed least: the methods take no time of their
// own.
static double residual_of(JNIEnv *env, jclass class)
{
    const uint32_t first = 1 + SONDE_FLOW_ROOT_NODES;
    double best = -1;
    for (int run = 0; run < CHECKS; run++) {
        sonde_flow_node *nodes = sonde_flow.nodes;
        uint32_t used = atomic_load(&sonde_flow.header->used);
        double left = 0, events = 0;
        for (uint32_t n = first; n < used; n++)
            nodes[n].measured = nodes[n].overhead = nodes[n].calls = 0;
        train(env, class, SONDE_TRAINING_RETURNS, 0);
        for (uint32_t n = first; n < used; n++) {
            left += (double)(nodes[n].measured - nodes[n].overhead);
            events += 2.0 * (double)nodes[n].calls;
        }
        if (events > 0 && (best < 0 || left / events < best))
            best = left / events;
    }
    return best < 0 ? 0 : best;
}

static bool learn(JNIEnv *env, jclass class, double *residual)
{
    sonde_flow_costs_reset();
    sonde_flow_costs_watch();
    bool done = train(env, class, SONDE_TRAINING_RETURNS, TRAINING_NS) &&
                train(env, class, SONDE_TRAINING_EXCEPTIONS, TRAINING_NS / 2);
    sonde_flow_costs_learn_smallest(ENOUGH);
    sonde_flow_costs_complete();
    if (!done)
        return false;
    // Times vary by more than what the smallest ones show: what these leave on average belongs to
    // the cost, too.
    uint32_t usual = (uint32_t)residual_of(env, class);
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++)
        sonde_flow.cost[i] += usual;
    *residual = residual_of(env, class);
    return true;
}

bool sonde_flow_train(JNIEnv *env, double *residual)
{
    size_t size = SONDE_FLOW_NODES_AT + NODES * sizeof(sonde_flow_node);
    sonde_flow_header *room =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    room->metric = SONDE_FLOW_WALL;
    room->capacity = NODES;
    jclass class = (*env)->FindClass(env, SONDE_CALL_CLASS);
    (*env)->ExceptionClear(env);
    bool done = false;
    if (class && sonde_flow_begin(room, size)) {
        sonde_flow.describe = NULL;
        sonde_flow.hold = NULL;
        sonde_flow_threads_train(true);
        done = learn(env, class, residual);
        sonde_flow_threads_train(false);
        sonde_flow_end(NULL);
    }
    (*env)->DeleteLocalRef(env, class);
    munmap(room, size);
    if (!done)
        sonde_flow_costs_reset();
    return done;
}
