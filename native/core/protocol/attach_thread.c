#define _GNU_SOURCE
#include "core/protocol/attach_thread.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/protocol/handshake.h"
#include "core/session/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// A forked child gets its runtime in order first.
#define FORK_SETTLES_MS 100
// How often to check whether the program has a thread left.
#define LOOK_MS 200

static char socket_path[108];
static const sonde_attach_ops *ops;
static _Atomic bool under_way; // from the request to attach to the last step of the thread
static bool in_child;
static sonde_link link_ = {.socket = -1, .memfd = -1};
static struct stat ours; // the socket, to know it again: programs close what they did not open

static void wake(void);
static void *body(void *unused);
static _Alignas(4096) char stack[256 << 10]; // in use until the thread was joined
static sonde_worker worker = {.name = "sonde-control",
                              .body = body,
                              .wake = wake,
                              .stack = stack,
                              .stack_size = sizeof stack};

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
    int error = sonde_link_control(&link_, socket_path, !in_child);
    if (error)
        return error;
    return fstat(link_.socket, &ours) ? errno : 0;
}

static void send_message(uint32_t type, uint32_t value)
{
    sonde_message message = {SONDE_MAGIC, type, value, 0};
    if (is_open())
        (void)!send(link_.socket, &message, sizeof message, MSG_NOSIGNAL);
}

// Until the recorder ends the session, or has ended itself.
static void serve(void)
{
    sonde_message message;
    while (is_open()) {
        sonde_exit_if_last();
        struct pollfd word = {.fd = link_.socket, .events = POLLIN};
        if (poll(&word, 1, LOOK_MS) <= 0) {
            if (ops->look)
                ops->look();
            continue;
        }
        ssize_t n = recv(link_.socket, &message, sizeof message, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != sizeof message || message.magic != SONDE_MAGIC || message.type == SONDE_MSG_END)
            return;
        if (message.type == SONDE_MSG_NAMES)
            ops->report_names();
    }
}

// The program's last thread ends: no message of the recorder matters any more.
static void wake(void)
{
    if (is_open())
        shutdown(link_.socket, SHUT_RDWR);
}

static void wait_for_fork(void)
{
    uint64_t now = sonde_now(), until = now + FORK_SETTLES_MS * 1000000u;
    struct pollfd end = {.fd = link_.socket, .events = 0};
    if (poll(&end, 1, FORK_SETTLES_MS) > 0)
        sonde_exit_if_last();
    if ((now = sonde_now()) < until) {
        struct timespec rest = {0, (long)(until - now)};
        nanosleep(&rest, NULL);
    }
}

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    if (in_child)
        wait_for_fork();
    int error = in_child ? 0 : open_link(); // a child was given its own when it was forked
    if (!error && !in_child && (error = ops->start(socket_path)))
        send_message(SONDE_MSG_FAILED, (uint32_t)error);
    if (!error) {
        serve();
        sonde_exit_if_last(); // before the GIL: no thread may be left to release it
        ops->stop();
    }
    close_link();
    if (ops->ended)
        ops->ended();
    atomic_store(&under_way, false);
    return NULL;
}

static int create(void)
{
    sonde_worker_join(&worker); // the last one has nothing left to do
    return sonde_worker_start(&worker);
}

int sonde_attach_start(const char *path, const sonde_attach_ops *with)
{
    int saved = errno, error = 0;
    bool free_ = false;
    if (strlen(path) >= sizeof socket_path)
        error = ENAMETOOLONG;
    else if (atomic_load(&sonde.generation) ||
             !atomic_compare_exchange_strong(&under_way, &free_, true))
        error = EALREADY;
    else {
        strcpy(socket_path, path);
        ops = with;
        in_child = false;
        if ((error = create()))
            atomic_store(&under_way, false);
    }
    errno = saved;
    return error;
}

bool sonde_attach_is_active(void) { return atomic_load(&under_way); }

bool sonde_attach_forked(void)
{
    if (!atomic_load(&under_way))
        return false;
    close_link();
    sonde_worker_forked(&worker);
    return true;
}

void sonde_attach_abandon(void) { atomic_store(&under_way, false); }

void sonde_attach_child(const char *path)
{
    strcpy(socket_path, path);
    in_child = true;
    // At once: a worker that a server forked as root may be about to drop the permission.
    open_link();
    atomic_store(&under_way, true);
    if (create()) {
        close_link();
        atomic_store(&under_way, false);
    }
}
