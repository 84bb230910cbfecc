#define _GNU_SOURCE
#include "cpython/lock_activity/method_hooks.h"

#include "core/session/session.h"
#include "cpython/lock_activity/acquisitions.h"
#include "cpython/lock_activity/lock_state.h"
#include "cpython/lock_activity/sampled_holds.h"

#include <Python.h>

// A call of a method reads its C function from the PyMethodDef each time, whichever way the
// interpreter has specialized the call (3.11 to 3.15). The definitions are static: every
// interpreter of the process has the same.

// ---- how methods are called

#define PARAMS_KEYWORDS PyObject *self, PyObject *args, PyObject *keywords
#define ARGS_KEYWORDS self, args, keywords
#define FLAGS_KEYWORDS (METH_VARARGS | METH_KEYWORDS)
#define PARAMS_NONE PyObject *self, PyObject *args
#define ARGS_NONE self, args
#define FLAGS_NONE METH_NOARGS
#define PARAMS_TUPLE PARAMS_NONE
#define ARGS_TUPLE ARGS_NONE
#define FLAGS_TUPLE METH_VARARGS
#define PARAMS_ONE PARAMS_NONE
#define ARGS_ONE ARGS_NONE
#define FLAGS_ONE METH_O
#define PARAMS_FAST PyObject *self, PyObject *const *args, Py_ssize_t count
#define ARGS_FAST self, args, count
#define FLAGS_FAST METH_FASTCALL
#define PARAMS_FASTKEYWORDS PARAMS_FAST, PyObject *names
#define ARGS_FASTKEYWORDS self, args, count, names
#define FLAGS_FASTKEYWORDS (METH_FASTCALL | METH_KEYWORDS)

#if PY_VERSION_HEX >= 0x030F0000
#define ACQUIRES FASTKEYWORDS
#define ENTERS NONE
#define EXITS FAST
#define RESTORES ONE
#else
#define ACQUIRES KEYWORDS
#define ENTERS KEYWORDS
#define EXITS TUPLE
#define RESTORES TUPLE
#endif

// ---- the hooks

static sonde_lock_types types; // of the interpreter in which the session began

// A lock that is freed while it is held ends its hold, and only the types here report that.
static bool is_followed(PyObject *lock, bool reentrant)
{
    PyTypeObject *type = Py_TYPE(lock);
    return reentrant ? type == types.rlock || PyType_IsSubtype(type, types.rlock)
                     : type == types.lock;
}

#define ACQUIRE_HOOK(name, reentrant, how) ACQUIRE_HOOK_(name, reentrant, how)
#define ACQUIRE_HOOK_(name, reentrant, how)                                                        \
    typedef PyObject *(*name##_t)(PARAMS_##how);                                                   \
    static name##_t real_##name;                                                                   \
    static PyObject *on_##name(PARAMS_##how)                                                       \
    {                                                                                              \
        sonde_attempt attempt;                                                                     \
        bool due = sonde_acquisition_is_due() && sonde_attempt_begin(&attempt, self, reentrant);   \
        PyObject *result = real_##name(ARGS_##how);                                                \
        if (!result || result == Py_False)                                                         \
            return result;                                                                         \
        if (__builtin_expect(due, 0))                                                              \
            sonde_attempt_succeeded(&attempt, self, is_followed(self, reentrant));                 \
        else                                                                                       \
            sonde_acquisition_count();                                                             \
        return result;                                                                             \
    }

// `ends`: whether the release ends the hold. One that fails ends none.
#define RELEASE_HOOK(name, reentrant, how, ends) RELEASE_HOOK_(name, reentrant, how, ends)
#define RELEASE_HOOK_(name, reentrant, how, ends)                                                  \
    typedef PyObject *(*name##_t)(PARAMS_##how);                                                   \
    static name##_t real_##name;                                                                   \
    static PyObject *on_##name(PARAMS_##how)                                                       \
    {                                                                                              \
        if (sonde_any_hold_is_sampled() && (ends))                                                 \
            sonde_lock_releases(self, reentrant);                                                  \
        return real_##name(ARGS_##how);                                                            \
    }

ACQUIRE_HOOK(lock_acquire, false, ACQUIRES)
ACQUIRE_HOOK(lock_acquire_lock, false, ACQUIRES)
ACQUIRE_HOOK(lock_enter, false, ENTERS)
RELEASE_HOOK(lock_release, false, NONE, sonde_lock_is_held(self, false))
RELEASE_HOOK(lock_release_lock, false, NONE, sonde_lock_is_held(self, false))
RELEASE_HOOK(lock_exit, false, EXITS, sonde_lock_is_held(self, false))
ACQUIRE_HOOK(rlock_acquire, true, ACQUIRES)
ACQUIRE_HOOK(rlock_enter, true, ENTERS)
ACQUIRE_HOOK(rlock_restore, true, RESTORES)
RELEASE_HOOK(rlock_release, true, NONE, sonde_rlock_is_outermost(self))
RELEASE_HOOK(rlock_exit, true, EXITS, sonde_rlock_is_outermost(self))
RELEASE_HOOK(rlock_save, true, NONE, sonde_rlock_is_mine(self))

static destructor real_lock_dealloc, real_rlock_dealloc;

static void on_lock_dealloc(PyObject *self)
{
    uint64_t id, since;
    if (sonde_any_hold_is_sampled())
        sonde_hold_end(sonde_lock_address(self, false), &id, &since);
    real_lock_dealloc(self);
}

static void on_rlock_dealloc(PyObject *self)
{
    uint64_t id, since;
    if (sonde_any_hold_is_sampled())
        sonde_hold_end(sonde_lock_address(self, true), &id, &since);
    real_rlock_dealloc(self);
}

// ---- in and out

typedef struct {
    bool reentrant;
    const char *name;
    int flags;
    PyCFunction *real, ours;
    PyMethodDef *method; // where the hook is; NULL: nowhere
} hook_t;

#define FLAGS_OF(how) FLAGS_OF_(how)
#define FLAGS_OF_(how) FLAGS_##how
#define HOOK(reentrant, method, how, name)                                                         \
    {reentrant,                                                                                    \
     method,                                                                                       \
     FLAGS_OF(how),                                                                                \
     (PyCFunction *)(void *)&real_##name,                                                          \
     (PyCFunction)(void (*)(void))on_##name,                                                       \
     NULL}
static hook_t hooks[] = {
    HOOK(false, "acquire", ACQUIRES, lock_acquire),
    HOOK(false, "acquire_lock", ACQUIRES, lock_acquire_lock),
    HOOK(false, "__enter__", ENTERS, lock_enter),
    HOOK(false, "release", NONE, lock_release),
    HOOK(false, "release_lock", NONE, lock_release_lock),
    HOOK(false, "__exit__", EXITS, lock_exit),
    HOOK(true, "acquire", ACQUIRES, rlock_acquire),
    HOOK(true, "__enter__", ENTERS, rlock_enter),
    HOOK(true, "_acquire_restore", RESTORES, rlock_restore),
    HOOK(true, "release", NONE, rlock_release),
    HOOK(true, "__exit__", EXITS, rlock_exit),
    HOOK(true, "_release_save", NONE, rlock_save),
};
#define HOOKS (sizeof hooks / sizeof *hooks)

static PyMethodDef *method_of(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    bool is_method = found && Py_IS_TYPE(found, &PyMethodDescr_Type);
    PyMethodDef *method = is_method ? ((PyMethodDescrObject *)found)->d_method : NULL;
    Py_XDECREF(found); // the type has it
    PyErr_Clear();
    return method;
}

// All are there, and called as is known here.
static bool find_methods(void)
{
    for (size_t i = 0; i < HOOKS; i++) {
        hook_t *hook = &hooks[i];
        PyMethodDef *method = method_of(hook->reentrant ? types.rlock : types.lock, hook->name);
        if (!method || method->ml_flags != hook->flags)
            return false;
        hook->method = method;
    }
    return true;
}

static void put_in(void)
{
    for (size_t i = 0; i < HOOKS; i++) {
        hook_t *hook = &hooks[i];
        if (hook->method->ml_meth == hook->ours)
            continue;
        *hook->real = hook->method->ml_meth;
        hook->method->ml_meth = hook->ours;
    }
    if (types.lock->tp_dealloc != on_lock_dealloc) {
        real_lock_dealloc = types.lock->tp_dealloc;
        types.lock->tp_dealloc = on_lock_dealloc;
    }
    if (types.rlock->tp_dealloc != on_rlock_dealloc) {
        real_rlock_dealloc = types.rlock->tp_dealloc;
        types.rlock->tp_dealloc = on_rlock_dealloc;
    }
}

// Where another tool has put its own over ours, ours stays below and does nothing.
static void take_out(void)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (hooks[i].method && hooks[i].method->ml_meth == hooks[i].ours)
            hooks[i].method->ml_meth = *hooks[i].real;
    if (types.lock && types.lock->tp_dealloc == on_lock_dealloc)
        types.lock->tp_dealloc = real_lock_dealloc;
    if (types.rlock && types.rlock->tp_dealloc == on_rlock_dealloc)
        types.rlock->tp_dealloc = real_rlock_dealloc;
}

static bool started;

void sonde_lock_activity_start(void)
{
    if (!(sonde.config.what & SONDE_WHAT_LOCK_ACTIVITY))
        return;
    bool known = sonde_lock_types_find(&types) && find_methods();
    if (!known || !sonde_lock_samples_start()) {
        atomic_store(&sonde.header->lock_activity, SONDE_LOCK_ACTIVITY_UNKNOWN_LAYOUT);
        return;
    }
    started = true;
    atomic_store(&sonde.header->lock_activity, SONDE_LOCK_ACTIVITY_SAMPLED);
    put_in();
}

void sonde_lock_activity_stop(void)
{
    if (!started)
        return;
    started = false;
    take_out();
    sonde_lock_samples_stop();
}

void sonde_lock_activity_before_child(void)
{
    if (started)
        sonde_lock_samples_stop();
}

void sonde_lock_activity_forked(bool followed)
{
    if (!started)
        return;
    if (followed && sonde_lock_samples_start()) {
        atomic_store(&sonde.header->lock_activity, SONDE_LOCK_ACTIVITY_SAMPLED);
        return;
    }
    started = false;
    take_out();
}
