#define _GNU_SOURCE
#include "steer.h"

#include "../core/handshake.h"
#include "../core/session.h"
#include "agent.h"
#include "execs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// Out of the way of programs that count on the next free descriptor.
#define HIGH_DESCRIPTOR 200
// A forked child gets its interpreter in order first.
#define FORK_SETTLES_MS 100
#define UP_TRIES 600 // of 5 ms

#if PY_VERSION_HEX >= 0x030D0000
#define is_finalizing Py_IsFinalizing
#else
#define is_finalizing _Py_IsFinalizing
#endif

static char socket_path[108];
static pthread_t thread;
static _Atomic bool under_way; // from the wish to attach to the last step of the thread
static bool to_join;           // its stack is in use until it was joined
static bool in_child;
static sonde_link link_ = {.socket = -1, .memfd = -1};
static struct stat ours; // the socket, to know it again: programs close what they did not open

// The thread's stack is a part of this library, which stays anyway: glibc would keep one that it
// made, and the target's memory would not be as before.
static _Alignas(4096) char stack[256 << 10];

static bool is_open(void)
{
    struct stat now;
    return link_.socket >= 0 && fstat(link_.socket, &now) == 0 && now.st_ino == ours.st_ino &&
           now.st_dev == ours.st_dev;
}

static void close_link(void)
{
    if (is_open())
        close(link_.socket);
    link_.socket = -1;
}

static int open_link(void)
{
    int error = sonde_link_steer(&link_, socket_path);
    if (error)
        return error;
    int high = fcntl(link_.socket, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high >= 0) {
        close(link_.socket);
        link_.socket = high;
    }
    return fstat(link_.socket, &ours) ? errno : 0;
}

static void tell(uint32_t word, uint32_t value)
{
    sonde_word message = {SONDE_MAGIC, word, value, 0};
    if (is_open())
        (void)!send(link_.socket, &message, sizeof message, MSG_NOSIGNAL);
}

// What the threads that were here before us are called; the caller holds the GIL. A program that
// has not imported threading has none.
static void tell_names(void)
{
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    if (!threading || !PyModule_Check(threading))
        return;
    PyObject *active = PyDict_GetItemString(PyModule_GetDict(threading), "_active");
    if (!active || !PyDict_CheckExact(active))
        return;
    PyObject *all = PyDict_Values(active);
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(all); i++)
        sonde_agent_describe(PyList_GET_ITEM(all, i));
    Py_XDECREF(all);
    PyErr_Clear();
}

// A process may be entered while its interpreter only comes up.
static bool wait_until_up(void)
{
    struct timespec pause = {0, 5000000};
    for (int i = 0; i < UP_TRIES && !Py_IsInitialized(); i++)
        nanosleep(&pause, NULL);
    return Py_IsInitialized() && !is_finalizing();
}

static int start(void)
{
    if (!wait_until_up())
        return EAGAIN;
    PyGILState_STATE gil = PyGILState_Ensure();
    int error = sonde_agent_start(socket_path, SONDE_ATTACH);
    if (!error) {
        sonde_execs_watch();
        tell_names();
    }
    PyGILState_Release(gil);
    return error;
}

static void stop(void)
{
    // An interpreter that ends takes no thread in any more; its process is about to go with all
    // that is ours.
    if (!Py_IsInitialized() || is_finalizing())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    sonde_agent_stop();
    PyGILState_Release(gil);
}

// Until the recorder says that it is over, or is gone.
static void obey(void)
{
    sonde_word message;
    while (is_open()) {
        ssize_t n = recv(link_.socket, &message, sizeof message, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != sizeof message || message.magic != SONDE_MAGIC || message.word == SONDE_WORD_END)
            return;
        if (message.word == SONDE_WORD_NAMES && !is_finalizing()) {
            PyGILState_STATE gil = PyGILState_Ensure();
            sonde_execs_watch(); // of modules that came meanwhile
            tell_names();
            PyGILState_Release(gil);
        }
    }
}

static void *body(void *unused)
{
    (void)unused;
    sonde_leave_me_out();
    if (in_child) {
        struct timespec settles = {0, FORK_SETTLES_MS * 1000000};
        nanosleep(&settles, NULL);
    }
    int error = open_link();
    if (!error && !in_child && (error = start()))
        tell(SONDE_WORD_FAILED, (uint32_t)error);
    if (!error)
        obey();
    if (!error || in_child)
        stop();
    close_link();
    atomic_store(&under_way, false);
    return NULL;
}

static int create(void)
{
    if (to_join)
        pthread_join(thread, NULL); // it has nothing left to do
    to_join = false;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    // The target's signals are not for it; faults inside the guard are.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, body, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error)
        return error;
    to_join = true;
    pthread_setname_np(thread, "sonde-steer");
    return 0;
}

// Called in a thread of the target that was made to call it at a moment of our choosing, with or
// without the GIL: nothing is done here that could wait for another thread. 0 or an errno.
EXPORT int sonde_agent_attach(const char *path)
{
    int saved = errno, error = 0;
    bool free_ = false;
    if (strlen(path) >= sizeof socket_path)
        error = ENAMETOOLONG;
    else if (sonde_agent_active() || !atomic_compare_exchange_strong(&under_way, &free_, true))
        error = EALREADY;
    else {
        strcpy(socket_path, path);
        in_child = false;
        if ((error = create()))
            atomic_store(&under_way, false);
    }
    errno = saved;
    return error;
}

bool sonde_steer_forked(void)
{
    if (!atomic_load(&under_way))
        return false;
    close_link();
    to_join = false;
    atomic_store(&under_way, false);
    return true;
}

void sonde_steer_child(const char *path)
{
    strcpy(socket_path, path);
    in_child = true;
    atomic_store(&under_way, true);
    if (create())
        atomic_store(&under_way, false);
}

#if PY_VERSION_HEX >= 0x030E0000
// Loaded by a script that the interpreter itself runs for us (remote debugging, 3.14): as an
// extension module, whose specification carries the argument. No module is made of it.
static PyObject *come_in(PyObject *spec, PyModuleDef *unused)
{
    (void)unused;
    PyObject *path = PyObject_GetAttrString(spec, "socket");
    const char *text = path ? PyUnicode_AsUTF8(path) : NULL;
    if (!text) {
        Py_XDECREF(path);
        return NULL;
    }
    sonde_agent_attach(text);
    Py_DECREF(path);
    Py_RETURN_NONE;
}

static PyModuleDef_Slot slots[] = {{Py_mod_create, come_in}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "sonde_agent", .m_slots = slots};

EXPORT PyObject *PyInit_sonde_agent(void) { return PyModuleDef_Init(&definition); }
#endif
