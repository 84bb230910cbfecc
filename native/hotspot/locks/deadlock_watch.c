#define _GNU_SOURCE
#include "core/base/agent_thread.h"
#include "core/base/clock.h"
#include "core/hooks/waiter_table.h"
#include "hotspot/locks/monitors.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/names/methods.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- waits that go on

#define PLACES 4096u
#define LONG_NS 1000000000u
static struct {
    _Atomic uint64_t lock; // 0: free
    uint64_t since;
    _Atomic bool told; // who holds it
} places[PLACES];
static _Atomic uint32_t places_used; // those above were never taken

uint32_t sonde_lookout_begin(uint64_t lock)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        uint64_t none = 0;
        if (atomic_load_explicit(&places[i].lock, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&places[i].lock, &none, ~(uint64_t)0))
            continue;
        places[i].since = sonde_now();
        atomic_store(&places[i].told, false);
        atomic_store_explicit(&places[i].lock, lock, memory_order_release);
        uint32_t used = atomic_load(&places_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&places_used, &used, i + 1))
            ;
        return i;
    }
    return PLACES;
}

void sonde_lookout_end(uint32_t place)
{
    if (place < PLACES)
        atomic_store_explicit(&places[place].lock, 0, memory_order_release);
}

// Who waits for `lock` so long that its holder should be told; marks it as done.
static bool is_due(uint64_t lock, uint64_t now)
{
    bool due = false;
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) == lock &&
            now - places[i].since >= LONG_NS && !atomic_exchange(&places[i].told, true))
            due = true;
    return due;
}

static bool anything_due(uint64_t now)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) + 1 > 1 &&
            !atomic_load(&places[i].told) && now - places[i].since >= LONG_NS)
            return true;
    return false;
}

static bool tells_itself(uint64_t lock)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) == lock)
            return true;
    return false;
}

// ---- waits from before the session that will not tell their end

#define MAX_FOUND 512
static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t waits;
} found[MAX_FOUND];
static _Atomic uint32_t found_used;

static bool keep(const void *pointer)
{
    uint64_t key = (uint64_t)(uintptr_t)pointer;
    uint32_t n = atomic_load(&found_used);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&found[i].key) == key) {
            atomic_fetch_add(&found[i].waits, 1);
            return true;
        }
    if (n == MAX_FOUND)
        return false;
    atomic_store(&found[n].key, key);
    atomic_store(&found[n].waits, 1);
    atomic_store(&found_used, n + 1);
    return true;
}

bool sonde_lookout_was_found(uint64_t lock)
{
    uint32_t n = atomic_load_explicit(&found_used, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load_explicit(&found[i].key, memory_order_relaxed) != lock)
            continue;
        uint32_t waits = atomic_load(&found[i].waits);
        while (waits && !atomic_compare_exchange_weak(&found[i].waits, &waits, waits - 1))
            ;
        return waits != 0;
    }
    return false;
}

void sonde_lookout_let_go(const void *pointer)
{
    if (sonde_lookout_was_found((uint64_t)(uintptr_t)pointer))
        sonde_wait_end(pointer);
}

static void forget_found(void)
{
    for (uint32_t i = 0; i < atomic_load(&found_used); i++)
        while (atomic_load(&found[i].waits))
            sonde_lookout_let_go((const void *)(uintptr_t)atomic_load(&found[i].key));
    atomic_store(&found_used, 0);
}

// ---- looking

typedef struct {
    jobject object; // what it waits for, NULL where it does not say
    uint64_t lock;
    uint32_t kind;
} waiting;

static jclass ownable;
static jfieldID owner_field;

static waiting what_for(JNIEnv *env, jthread thread)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    waiting w = {NULL, 0, 0};
    jint state = 0;
    if ((*jvmti)->GetThreadState(jvmti, thread, &state))
        return w;
    if (state & (JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER | JVMTI_THREAD_STATE_IN_OBJECT_WAIT)) {
        bool enters = state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
        w.kind = enters ? SONDE_KIND_MONITOR : SONDE_KIND_MONITOR_WAIT;
        w.object = sonde_record_monitor(env, sonde_vm_thread_of(env, thread), !enters);
        w.lock = sonde_lock_of(w.object, enters ? 0 : SONDE_IS_WAIT);
    } else if (state & JVMTI_THREAD_STATE_PARKED) {
        w.kind = SONDE_KIND_PARK;
        w.object = sonde_park_blocker(env, thread);
        w.lock = sonde_park_lock(thread, w.object);
    }
    return w;
}

jthread sonde_park_holder(JNIEnv *env, jobject blocker)
{
    if (!blocker || !ownable || !(*env)->IsInstanceOf(env, blocker, ownable))
        return NULL;
    return (*env)->GetObjectField(env, blocker, owner_field);
}

static jthread holder_of(JNIEnv *env, const waiting *w)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    if (w->kind == SONDE_KIND_MONITOR) {
        jvmtiMonitorUsage usage;
        memset(&usage, 0, sizeof usage);
        if ((*jvmti)->GetObjectMonitorUsage(jvmti, w->object, &usage))
            return NULL;
        for (jint i = 0; i < usage.waiter_count; i++)
            (*env)->DeleteLocalRef(env, usage.waiters[i]);
        for (jint i = 0; i < usage.notify_waiter_count; i++)
            (*env)->DeleteLocalRef(env, usage.notify_waiters[i]);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)usage.waiters);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)usage.notify_waiters);
        return usage.owner;
    }
    return w->kind == SONDE_KIND_PARK ? sonde_park_holder(env, w->object) : NULL;
}

// The notes are lent to one at a time, for some microseconds.
static sonde_thread *borrow_notes(void)
{
    sonde_thread *notes = sonde_notes_enter();
    for (int tries = 0; !notes && tries < 1000; tries++) {
        sched_yield();
        notes = sonde_notes_enter();
    }
    return notes;
}

// Writes an event of another thread, with its stack.
static void tell_of(JNIEnv *env, jthread thread, const waiting *w, uint8_t type, bool tells)
{
    uint64_t record = sonde_vm_thread_of(env, thread), number = sonde_virtual(env, thread);
    uint64_t id = number ? number : sonde_record_tid(record);
    sonde_thread *notes = id ? borrow_notes() : NULL;
    if (!notes)
        return;
    sonde_event stack = {0};
    uint32_t depth = sonde_stack_of(notes, sonde_locks_jvmti, thread, &stack);
    // What its methods are is told by way of the same ring, and has to stand there before.
    sonde_notes_leave();
    sonde_methods_describe(env);
    notes = borrow_notes();
    if (!notes)
        return;
    stack = (sonde_event){0};
    depth = sonde_stack_of(notes, sonde_locks_jvmti, thread, &stack);
    sonde_lock_event event = {.time = sonde_now(),
                              .lock = w->lock,
                              .sequence = sonde_lock_sequence(w->lock),
                              .started = sonde_vm_object_of(env, thread),
                              .started_sequence = tells,
                              .kind = w->kind,
                              .holder = id,
                              .type = type,
                              .flags = stack.flags};
    sonde_write_lock(notes, depth, &event);
    sonde_notes_leave();
}

// `first`: nobody has told of the waits yet.
static void look(JNIEnv *env, bool first)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jint count = 0;
    jthread *threads = NULL;
    uint64_t now = sonde_now();
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
        return;
    for (jint i = 0; i < count; i++) {
        waiting w = what_for(env, threads[i]);
        bool tells = w.lock && (w.kind != SONDE_KIND_PARK || tells_itself(w.lock));
        if (w.lock && first) {
            const void *key = (const void *)(uintptr_t)w.lock;
            if (!tells_itself(w.lock) && keep(key) && !tells)
                sonde_wait_begin(key, w.lock, w.kind);
            tell_of(env, threads[i], &w, SONDE_LOCK_FOUND, tells);
        }
        if (w.lock && (first || is_due(w.lock, now))) {
            jthread holder = holder_of(env, &w);
            if (holder)
                tell_of(env, holder, &w, SONDE_LOCK_HELD, false);
            (*env)->DeleteLocalRef(env, holder);
        }
        (*env)->DeleteLocalRef(env, w.object);
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

// ---- the thread that looks

static pthread_t thread;
static bool running;
static _Atomic uint32_t stopping;
// A part of the library, as the steering thread's: libc would keep one that it made.
static _Alignas(4096) char stack[1 << 20];
#define LOOK_NS 250000000

static void wake(void) { syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1); }

static void *body(void *unused)
{
    (void)unused;
    sonde_leave_me_out();
    struct timespec pause = {0, LOOK_NS};
    while (!atomic_load(&stopping)) {
        sonde_exit_if_last();
        syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
        if (atomic_load(&stopping) || !anything_due(sonde_now()))
            continue;
        JNIEnv *env = sonde_vm_attach();
        if (env) {
            look(env, false);
            sonde_vm_detach();
        }
    }
    return NULL;
}

int sonde_lookout_start(JNIEnv *env)
{
    sonde_records_prepare();
    if (!ownable) {
        jclass class =
            (*env)->FindClass(env, "java/util/concurrent/locks/AbstractOwnableSynchronizer");
        if (class)
            owner_field =
                (*env)->GetFieldID(env, class, "exclusiveOwnerThread", "Ljava/lang/Thread;");
        (*env)->ExceptionClear(env);
        if (class && owner_field)
            ownable = (*env)->NewGlobalRef(env, class);
        (*env)->DeleteLocalRef(env, class);
    }
    forget_found();
    look(env, true);
    atomic_store(&stopping, 0);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    error = sonde_own_thread(&thread, &attributes, body, "sonde-lookout", wake);
    pthread_attr_destroy(&attributes);
    running = !error;
    return error;
}

void sonde_lookout_stop(void)
{
    if (!running)
        return;
    atomic_store(&stopping, 1);
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1);
    pthread_join(thread, NULL);
    running = false;
}

void sonde_lookout_forked(void) { running = false; }
