#define _GNU_SOURCE
#include "hotspot/vm/thread_records.h"

#include "core/session/shm.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/vm.h"
#include "hotspot/vm/vm_structs.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// In the order of the names below: 17 keeps the first, 25 the second. Those after NEEDED are of
// virtual threads, from 24 on.
enum {
    OS_THREAD_17,
    OS_THREAD,
    THREAD_ID,
    PENDING,
    NOTIFIED,
    OBJECT,
    NEEDED,
    OWNER = NEEDED,
    OWNER_ID,
    CONTINUATION,
    FIELDS
};
static const struct {
    const char *type, *field;
} names[FIELDS] = {
    {"JavaThread", "_osthread"},
    {"Thread", "_osthread"},
    {"OSThread", "_thread_id"},
    {"JavaThread", "_current_pending_monitor"},
    {"JavaThread", "_current_waiting_monitor"},
    {"ObjectMonitor", "_object"},
    {"ObjectMonitor", "_owner"},
    {"JavaThread", "_monitor_owner_id"},
    {"JavaThread", "_cont_entry"},
};
static int64_t offsets[FIELDS];
static bool known, numbers_known;

typedef struct {
    uint64_t from, value;
    int path[2]; // fields to follow
} read_job;

static void read_body(void *arg)
{
    read_job *job = arg;
    uint64_t at = job->from;
    for (int i = 0; i < 2 && at; i++) {
        uintptr_t place = (uintptr_t)at + (uintptr_t)offsets[job->path[i]];
        at = job->path[i] == THREAD_ID ? *(const uint32_t *)place : *(const uint64_t *)place;
    }
    job->value = at;
}

static uint64_t follow(uint64_t record, int first, int second)
{
    read_job job = {record, 0, {first, second}};
    return record && sonde_guard_run(read_body, &job) ? job.value : 0;
}

static uint32_t tid_of(uint64_t record)
{
    int os_thread = offsets[OS_THREAD] >= 0 ? OS_THREAD : OS_THREAD_17;
    return (uint32_t)follow(record, os_thread, THREAD_ID);
}

void sonde_records_prepare(void)
{
    const void *me;
    if (known)
        return;
    void *vm = sonde_vm_library();
    for (int i = 0; i < FIELDS; i++)
        offsets[i] = sonde_field_offset(vm, names[i].type, names[i].field);
    for (int i = OS_THREAD + 1; i < NEEDED; i++)
        if (offsets[i] < 0)
            return;
    // What is right for this thread is right for all.
    known = (offsets[OS_THREAD] >= 0 || offsets[OS_THREAD_17] >= 0) && sonde_vm_thread(&me) &&
            tid_of((uint64_t)(uintptr_t)me) == (uint32_t)syscall(SYS_gettid);
    numbers_known =
        known && offsets[OWNER] >= 0 && offsets[OWNER_ID] >= 0 && offsets[CONTINUATION] >= 0;
}

uint32_t sonde_record_tid(uint64_t record)
{
    uint32_t tid = known ? tid_of(record) : 0;
    return tid && syscall(SYS_tgkill, getpid(), tid, 0) == 0 ? tid : 0;
}

#define NUMBERED ((uint64_t)1 << 32)

uint64_t sonde_vm_own_object(void) { return NUMBERED | (uint32_t)syscall(SYS_gettid); }

uint64_t sonde_vm_object_of(JNIEnv *env, jthread thread)
{
    uint64_t record = sonde_vm_thread_of(env, thread);
    uint32_t number = record ? sonde_record_tid(record) : 0;
    return number ? NUMBERED | number : 0;
}

// A monitor refers to its object by a weak handle: the address of a place that the collector knows,
// which is just what a weak global reference of JNI is, but for that one's lowest bit (17 to 25).
#define WEAK 1u

jobject sonde_record_monitor(JNIEnv *env, uint64_t record, bool notified)
{
    int which = notified ? NOTIFIED : PENDING;
    uint64_t place = known ? follow(record, which, OBJECT) : 0;
    // As long as the thread waits for it, the monitor stays.
    if (!place || place & 7 || follow(record, which, OBJECT) != place)
        return NULL;
    return (*env)->NewLocalRef(env, (jobject)(uintptr_t)(place | WEAK));
}

// ---- by the numbers that Java gives threads, which monitors know their owners by from 24 on

static uint64_t at(const void *record, int field)
{
    return *(const uint64_t *)((const char *)record + offsets[field]);
}

uint64_t sonde_record_owner_id(const void *record)
{
    return numbers_known ? at(record, OWNER_ID) : 0;
}

bool sonde_records_have_virtual(void) { return numbers_known; }

uint64_t sonde_record_virtual(const void *record)
{
    return numbers_known && at(record, CONTINUATION) ? SONDE_VIRTUAL | at(record, OWNER_ID) : 0;
}

uint64_t sonde_record_pending(const void *record)
{
    uint64_t monitor = numbers_known ? at(record, PENDING) : 0;
    return monitor & 7 ? 0 : monitor;
}

uint64_t sonde_monitor_owner(uint64_t monitor)
{
    return at((const void *)(uintptr_t)monitor, OWNER);
}
