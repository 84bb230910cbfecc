#define _GNU_SOURCE
#include "hotspot/instrument/probe_calls.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/session/name_records.h"
#include "core/session/records.h"
#include "hotspot/instrument/probe_places.h"
#include "hotspot/instrument/probe_reading.h"
#include "hotspot/names/types.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/walk.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 200000000L
#define MAX_REFERENCES 64

static jvmtiEnv *probes_jvmti;

// ---- types: of values that are no objects

static const char letters[] = "ZBCSIJFDL";
static const char *const words[] = {"boolean", "byte",  "char",   "short", "int",
                                    "long",    "float", "double", "null"};
static _Atomic uint32_t reported[sizeof words / sizeof *words]; // in which session

static uint64_t simple_type(sonde_thread *me, char letter)
{
    const char *found = strchr(letters, letter);
    size_t place = found && *found ? (size_t)(found - letters) : sizeof letters - 2;
    uint32_t session = atomic_load(&sonde.generation);
    uint64_t id = (uint64_t)session << 32 | (UINT32_MAX - place);
    if (atomic_load(&reported[place]) == session)
        return id;
    if (!sonde_write_type(&me->ring, id, words[place]))
        return 0;
    atomic_store(&reported[place], session);
    return id;
}

// ---- values

// Values fill no more than half of the ring: samples and events of locks have the rest.
static bool has_room(const sonde_thread *me)
{
    const sonde_ring *ring = &me->ring;
    uint64_t tail = atomic_load_explicit(&ring->slot->tail, memory_order_relaxed);
    return ring->head - tail < ring->size / 2;
}

static bool write_value(sonde_thread *me, JNIEnv *env, const sonde_probe_order *order,
                        const sonde_java_value *value)
{
    jvmtiEnv *jvmti = probes_jvmti;
    if (!has_room(me))
        return false;
    sonde_rec_probe out = {.probe = order->serial};
    out.rec.state = sonde_java_describe(env, jvmti, value, &out);
    bool is_object = (value->type == 'L' || value->type == '[') && value->value.l;
    out.type = is_object ? sonde_type_of(me, jvmti, (*env)->GetObjectClass(env, value->value.l))
                         : simple_type(me, value->type);
    sonde_event stack = {0};
    sonde_hotspot_identify(me);
    uint32_t depth = sonde_stack_of(me, jvmti, NULL, &stack);
    if (depth) { // the innermost is the method that called us
        memmove(sonde_stack(me), sonde_stack(me) + 1, (depth - 1) * sizeof *sonde_stack(me));
        depth--;
    }
    out.rec.flags = stack.flags;
    out.time = sonde_now();
    out.span = stack.span;
    return out.type && sonde_write_probe(me, depth, &out);
}

static void read_and_write(sonde_thread *me, JNIEnv *env, sonde_probe *counts,
                           const sonde_probe_order *order, uint32_t flags, sonde_java_value value)
{
    int failure = SONDE_PROBE_UNBOUND;
    if ((*env)->PushLocalFrame(env, MAX_REFERENCES)) {
        (*env)->ExceptionClear(env);
        return;
    }
    bool from_first = flags & (SONDE_PLACE_FIELD | SONDE_PLACE_STATIC);
    if (!(flags & SONDE_PLACE_UNBOUND))
        failure = sonde_java_read(env, probes_jvmti, order, from_first ? 0 : 1,
                                  flags & SONDE_PLACE_STATIC, &value);
    if (failure >= 0)
        atomic_fetch_add(&counts->failures[failure], 1);
    else if (write_value(me, env, order, &value))
        atomic_fetch_add(&counts->sampled, 1);
    else
        atomic_fetch_add(&counts->lost, 1);
    (*env)->PopLocalFrame(env, NULL);
}

static void hit(JNIEnv *env, jint number, sonde_java_value value)
{
    uint32_t word = (uint32_t)number, place = word & 0xff;
    const sonde_probe_order *order = sonde_probe_at(place);
    if (!order || (order->serial & 0xff) != word >> 24)
        return;
    int saved = errno;
    sonde_thread *me = sonde_enter();
    sonde_probe *counts = me && (sonde_what() & SONDE_WHAT_PROBES) && probes_jvmti
                              ? sonde_probe_counts(place, order)
                              : NULL;
    value.type = (char)(word >> 8);
    if (value.type == SONDE_INSERT_CLASS)
        value.type = 'L';
    if (counts &&
        atomic_fetch_add_explicit(&counts->hits, 1, memory_order_relaxed) % order->every == 0)
        read_and_write(me, env, counts, order, word >> 16 & 0xff, value);
    if (me)
        sonde_leave(me);
    errno = saved;
}

static void JNICALL on_integer(JNIEnv *env, jclass class, jlong value, jint number)
{
    (void)class;
    hit(env, number, (sonde_java_value){'J', {.j = value}});
}

static void JNICALL on_real(JNIEnv *env, jclass class, jdouble value, jint number)
{
    (void)class;
    hit(env, number, (sonde_java_value){'D', {.d = value}});
}

static void JNICALL on_object(JNIEnv *env, jclass class, jobject value, jint number)
{
    (void)class;
    hit(env, number, (sonde_java_value){'L', {.l = value}});
}

static void JNICALL on_pass(JNIEnv *env, jclass class, jint number)
{
    (void)class;
    hit(env, number, (sonde_java_value){'V', {0}});
}

void sonde_probes_set_natives(sonde_call_natives *natives)
{
    natives->integer = on_integer;
    natives->real = on_real;
    natives->object = on_object;
    natives->pass = on_pass;
}

// ---- classes

// Of which classes are looked for: all probes, and while they change those that there were.
static const sonde_probe_order *before[SONDE_MAX_PROBES];
static _Thread_local uint32_t in_class __attribute__((tls_model("initial-exec")));

static bool path_of(jvmtiEnv *jvmti, jclass class, const char *name, char *path, size_t room)
{
    char *file = NULL;
    const char *dot = strrchr(name, '.');
    size_t package = dot ? (size_t)(dot + 1 - name) : 0;
    if ((*jvmti)->GetSourceFileName(jvmti, class, &file))
        return false;
    bool fits = package + strlen(file) < room;
    for (size_t i = 0; i < package && fits; i++)
        path[i] = name[i] == '.' ? '/' : name[i];
    if (fits)
        strcpy(path + package, file);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)file);
    return fits;
}

bool sonde_probes_want_class(jvmtiEnv *jvmti, jclass class, const char *name)
{
    char path[2048];
    bool any = false, was = false;
    in_class = 0;
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++)
        any |= sonde_probe_at(i) || before[i];
    if (!any || !path_of(jvmti, class, name, path, sizeof path))
        return false;
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++) {
        const sonde_probe_order *order = sonde_probe_at(i);
        if (order && sonde_probe_is_in(order, path))
            in_class |= 1u << i;
        was |= before[i] && sonde_probe_is_in(before[i], path);
    }
    return in_class || was;
}

void sonde_probes_choose(const sonde_class_method *method, sonde_method_edit *edit)
{
    uint32_t found = in_class ? sonde_probe_places(method, in_class, edit) : 0;
    for (; found; found &= found - 1)
        atomic_fetch_add(&sonde.area->probes[__builtin_ctz(found)].places, 1);
}

void sonde_probes_refused(void)
{
    for (uint32_t left = in_class; left && sonde.area; left &= left - 1)
        atomic_store(&sonde.area->probes[__builtin_ctz(left)].trouble, SONDE_PROBE_REFUSED);
}

// ---- orders

static void (*renew_classes)(JNIEnv *env);
static bool started;

static void *await_orders(void *unused);
static void wake(void);
// HotSpot puts its guard pages into the stack while the thread is attached.
static _Alignas(4096) char worker_stack[1 << 20];
static sonde_worker worker = {.name = SONDE_THREAD_PREFIX "probes",
                              .body = await_orders,
                              .wake = wake,
                              .stack = worker_stack,
                              .stack_size = sizeof worker_stack};

// The recorder wakes it, too: the futex lies in the memory they share.
static void wake(void)
{
    sonde_probe_area *area = sonde.area;
    if (area)
        syscall(SYS_futex, &area->orders, FUTEX_WAKE, 1);
}

static void read_orders(void)
{
    uint32_t seen = atomic_load(&sonde.area->orders);
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++)
        before[i] = sonde_probe_at(i);
    sonde_probe_table_read();
    atomic_store(&sonde.area->applied, seen);
}

static void apply(void)
{
    JNIEnv *env = sonde_vm_attach();
    if (!env)
        return;
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++)
        atomic_store(&sonde.area->probes[i].places, 0);
    read_orders();
    renew_classes(env);
    memset(before, 0, sizeof before);
    sonde_vm_detach();
}

static void *await_orders(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    sonde_probe_area *area = sonde.area; // which stays mapped until this thread has ended
    while (!sonde_worker_is_stopping(&worker)) {
        uint32_t applied = atomic_load(&area->applied);
        if (atomic_load(&area->orders) == applied) {
            struct timespec time = {0, LOOK_NS};
            syscall(SYS_futex, &area->orders, FUTEX_WAIT, applied, &time, NULL, 0);
        }
        if (atomic_load(&area->orders) != applied && !sonde_worker_is_stopping(&worker))
            apply();
        sonde_exit_if_last();
    }
    return NULL;
}

bool sonde_probes_wanted(void) { return sonde.area && (sonde.config.what & SONDE_WHAT_PROBES); }

void sonde_probes_prepare(jvmtiEnv *jvmti)
{
    probes_jvmti = jvmti;
    sonde_probe_table_forget();
    read_orders();
    memset(before, 0, sizeof before);
}

void sonde_probes_start(void (*renew)(JNIEnv *env))
{
    renew_classes = renew;
    started = sonde_worker_start(&worker) == 0;
}

void sonde_probes_stop(void)
{
    if (started)
        sonde_worker_stop(&worker);
    started = false;
}

void sonde_probes_forked(void)
{
    if (started)
        sonde_worker_forked(&worker);
    started = false;
}
