// Which threads that wait for a condition were notified, and by which release of the lock.
//
// A notification wakes no thread: waiters are moved from those that wait for a notification to
// those that wait for the lock, and one of them is woken when the notifier releases it, the next
// one when that one does. So the thread that wakes another need not be the one that notified it. A
// thread that releases the lock checks which of those that wait for its conditions have been moved:
// the first one to see that has notified them.
#ifndef SONDE_HOTSPOT_NOTIFICATIONS_H
#define SONDE_HOTSPOT_NOTIFICATIONS_H

#include <stdbool.h>
#include <stdint.h>

// What a thread that was notified learns.
typedef struct {
    uint64_t time;     // when the notifier released the lock; 0: it was not notified
    uint64_t ended;    // the number of the event that ends its wait for the notification
    uint64_t contends; // ... that begins its wait for the lock; 0: it is the next to acquire it
} sonde_notice;

typedef struct {
    uint64_t condition, lock; // as events have them
    const void *key;          // what it is woken by
    const void *thread;       // the VM's record of it, where that is used to find out
    const uint64_t *node;     // what the VM keeps of its wait
    bool since_24;
} sonde_condition_waiter;

// The calling thread is about to sleep. What to give back when it is awake.
#define SONDE_NO_NOTICE UINT32_MAX
uint32_t sonde_notice_wait(const sonde_condition_waiter *waiter);
sonde_notice sonde_notice_take(uint32_t place, const void *key);

// The calling thread releases `lock` and is about to wake who is woken by `key`.
#define SONDE_MAX_CONDITIONS 4
typedef struct {
    bool before;   // that one was notified by an earlier owner
    bool next;     // ... by this one
    bool contends; // others that this one notified wait for the lock from now on
    uint32_t count;
    struct {
        uint64_t condition, sequence;
    } exits[SONDE_MAX_CONDITIONS]; // what it has to report
} sonde_notified;
typedef bool sonde_was_notified(const sonde_condition_waiter *waiter, void *arg);
sonde_notified sonde_notify(uint64_t lock, const void *key, uint64_t now, sonde_was_notified *was,
                            void *arg);
// Does a thread wait for a condition of this lock?
bool sonde_notice_has_waiter(uint64_t lock);

// Before a session, and in a forked child.
void sonde_notices_forget(void);

#endif
