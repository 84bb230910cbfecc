// What a lock object of the _thread module says of itself. Its layout is in no header: it is the
// one of CPython 3.11 to 3.15, and checked on a lock of our own before it is relied on.
#ifndef SONDE_CPYTHON_LOCK_STATE_H
#define SONDE_CPYTHON_LOCK_STATE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    PyTypeObject *lock, *rlock;
} sonde_lock_types;

// Finds the types of the calling thread's interpreter. False: there are none, or their objects are
// not laid out as is known here. The caller has the GIL.
bool sonde_lock_types_find(sonde_lock_types *types);

typedef struct { // of threading.Lock
    PyObject_HEAD
#if PY_VERSION_HEX >= 0x030E0000
        uint8_t mutex; // 1: locked
#else
        void *semaphore;
    PyObject *weak_references;
    char locked;
#endif
} sonde_lock_object;

typedef struct { // of threading.RLock
    PyObject_HEAD
#if PY_VERSION_HEX >= 0x030E0000
        uint8_t mutex;
    unsigned long long owner;
    size_t level; // how often it was acquired again
#else
        void *semaphore;
    unsigned long owner;
    unsigned long count;
    PyObject *weak_references;
#endif
} sonde_rlock_object;

// What waits for the lock are known by, as in sonde_rec_lock.
static inline uint64_t sonde_lock_address(PyObject *lock, bool reentrant)
{
#if PY_VERSION_HEX >= 0x030E0000
    return reentrant ? (uint64_t)(uintptr_t)&((sonde_rlock_object *)lock)->mutex
                     : (uint64_t)(uintptr_t)&((sonde_lock_object *)lock)->mutex;
#else
    return reentrant ? (uint64_t)(uintptr_t)((sonde_rlock_object *)lock)->semaphore
                     : (uint64_t)(uintptr_t)((sonde_lock_object *)lock)->semaphore;
#endif
}

// Does a thread hold it?
static inline bool sonde_lock_is_held(PyObject *lock, bool reentrant)
{
#if PY_VERSION_HEX >= 0x030E0000
    uint8_t word =
        reentrant ? ((sonde_rlock_object *)lock)->mutex : ((sonde_lock_object *)lock)->mutex;
    return word & 1;
#else
    return reentrant ? ((sonde_rlock_object *)lock)->count != 0
                     : ((sonde_lock_object *)lock)->locked != 0;
#endif
}

// Has a thread got it, or is about to have it? Up to 3.13 a thread that was woken by a release says
// so in the object only when it has the GIL again; until then others come in vain. glibc keeps a
// semaphore's value in the lower half of its first word (struct new_sem, since 2.21).
static inline bool sonde_lock_is_taken(PyObject *lock, bool reentrant)
{
#if PY_VERSION_HEX >= 0x030E0000
    return sonde_lock_is_held(lock, reentrant);
#else
    const void *semaphore = reentrant ? ((sonde_rlock_object *)lock)->semaphore
                                      : ((sonde_lock_object *)lock)->semaphore;
    return (uint32_t)__atomic_load_n((const uint64_t *)semaphore, __ATOMIC_RELAXED) == 0;
#endif
}

// Does the calling thread hold it? Unknown of a lock that is not reentrant.
static inline bool sonde_rlock_is_mine(PyObject *lock)
{
    return sonde_lock_is_held(lock, true) &&
           ((sonde_rlock_object *)lock)->owner == PyThread_get_thread_ident();
}

// Does the calling thread hold it just once?
static inline bool sonde_rlock_is_outermost(PyObject *lock)
{
#if PY_VERSION_HEX >= 0x030E0000
    return sonde_rlock_is_mine(lock) && ((sonde_rlock_object *)lock)->level == 0;
#else
    return sonde_rlock_is_mine(lock) && ((sonde_rlock_object *)lock)->count == 1;
#endif
}

#endif
