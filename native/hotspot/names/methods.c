#define _GNU_SOURCE
#include "hotspot/names/methods.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/base/worker.h"
#include "hotspot/names/method_info.h"
#include "hotspot/names/native_symbols.h"
#include "hotspot/vm/vm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- the queue: handlers put in, one describer takes out

#define QUEUE 16384u // a power of two
static _Atomic uint64_t queue[QUEUE];
static _Atomic uint64_t put_in, taken_out;
static _Atomic uint32_t asleep;

static bool put(jmethodID method)
{
    uint64_t at = atomic_load(&put_in);
    do {
        if (at - atomic_load(&taken_out) >= QUEUE)
            return false;
    } while (!atomic_compare_exchange_weak(&put_in, &at, at + 1));
    atomic_store_explicit(&queue[at % QUEUE], (uint64_t)(uintptr_t)method, memory_order_release);
    if (atomic_exchange(&asleep, 0))
        syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1);
    return true;
}

// The next one, 0 if there is none or it is just being put in.
static jmethodID next(void)
{
    uint64_t at = atomic_load(&taken_out);
    return (jmethodID)(uintptr_t)atomic_load_explicit(&queue[at % QUEUE], memory_order_acquire);
}

static void take(void)
{
    uint64_t at = atomic_load(&taken_out);
    atomic_store(&queue[at % QUEUE], 0);
    atomic_store(&taken_out, at + 1);
}

// ---- ids

// The table of what was seen is for addresses, whose lowest three bits it drops. Newer VMs than
// those known here number their methods.
static const void *key_of(jmethodID method)
{
    uintptr_t value = (uintptr_t)method;
    return (const void *)(value >> 32 ? value : value << 3);
}

SONDE_HOT uint64_t sonde_method_id(sonde_thread *thread, jmethodID method)
{
    const void *key = key_of(method);
    sonde_id_cache_entry *known = sonde_id_cache_place(thread, key);
    if (known->key == key)
        return known->about;
    bool fresh;
    uint64_t id = sonde_seen_add(sonde.seen, key, &fresh);
    if (!id) {
        atomic_fetch_add(&sonde.header->unnamed, 1);
        return 0;
    }
    if (fresh && !put(method)) {
        sonde_seen_remove(sonde.seen, key); // the next one who sees it tries again
        return 0;
    }
    *known = (sonde_id_cache_entry){key, id};
    return id;
}

// ---- the describer

static pthread_mutex_t describing = PTHREAD_MUTEX_INITIALIZER;

void sonde_methods_describe(JNIEnv *env)
{
    pthread_mutex_lock(&describing);
    for (jmethodID method; (method = next());) {
        uint64_t id = sonde_seen_find(sonde.seen, key_of(method));
        if (id && !sonde_describe_method(env, method, id))
            break; // the ring is full: later
        take();
    }
    pthread_mutex_unlock(&describing);
}

static void wake(void);
static void *body(void *unused);
// HotSpot puts its guard pages into the stack while the thread is attached.
static _Alignas(4096) char stack[1 << 20];
static sonde_worker worker = {
    .name = "sonde-names", .body = body, .wake = wake, .stack = stack, .stack_size = sizeof stack};

// Between two batches: attaching to the VM makes a Java object each time.
#define PAUSE_NS 5000000u
#define LOOK_NS 500000000u

static void sleep_for(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, &time, NULL, 0);
}

static void wake(void)
{
    atomic_store(&asleep, 0);
    syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1);
}

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t counted = 0;
    while (!sonde_worker_is_stopping(&worker)) {
        sonde_exit_if_last();
        if (next()) {
            // Attached only as long as there is something to describe: System.exit waits 300 ms for
            // a thread that is attached and in native code, and thread dumps show it.
            JNIEnv *env = sonde_vm_attach();
            if (env) {
                sonde_methods_describe(env);
                sonde_vm_detach();
            }
            struct timespec pause = {0, PAUSE_NS};
            nanosleep(&pause, NULL);
        } else {
            sonde_natives_refresh();
            atomic_store(&asleep, 1);
            if (!next() && !sonde_worker_is_stopping(&worker))
                sleep_for(LOOK_NS);
            atomic_store(&asleep, 0);
        }
        uint64_t used = sonde_thread_cpu();
        atomic_fetch_add(&sonde.header->reader_cpu_ns, used - counted);
        counted = used;
    }
    return NULL;
}

void sonde_methods_forget(void)
{
    while (next())
        take();
}

int sonde_methods_start(void) { return sonde_worker_start(&worker); }

void sonde_methods_stop(void) { sonde_worker_stop(&worker); }

void sonde_methods_forked(void)
{
    sonde_worker_forked(&worker);
    pthread_mutex_init(&describing, NULL);
}
