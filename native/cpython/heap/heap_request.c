#define _GNU_SOURCE
#include "cpython/heap/heap_request.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/session/session.h"
#include "cpython/frames/frames.h"
#include "cpython/heap/walker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Above those that programs expect to get next.
#define HIGH_DESCRIPTOR 200
#define COLLECTION_STEP_NS 2000000
#define MAX_COLLECTION_NS 10000000000u
#define ORDER_MS 5000

static _Atomic bool under_way;
static char socket_path[108];
static void (*at_end)(void);
static uint32_t settling_ms;

// Descriptors, to know them again: programs close what they did not open.
typedef struct {
    int fd;
    struct stat was;
} descriptor;
static descriptor link_ = {.fd = -1}, file = {.fd = -1};

static pthread_mutex_t descriptors = PTHREAD_MUTEX_INITIALIZER; // held while they change, or a fork

static bool keep(descriptor *of, int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    close(fd);
    of->fd = high;
    return high >= 0 && fstat(high, &of->was) == 0;
}

static bool is_ours(const descriptor *of)
{
    struct stat now;
    return of->fd >= 0 && fstat(of->fd, &now) == 0 && now.st_ino == of->was.st_ino &&
           now.st_dev == of->was.st_dev;
}

static void close_own(descriptor *of)
{
    if (is_ours(of))
        close(of->fd);
    of->fd = -1;
}

static void close_all(void)
{
    pthread_mutex_lock(&descriptors);
    close_own(&file);
    close_own(&link_);
    pthread_mutex_unlock(&descriptors);
}

// ---- the snapshot

// Waits while a collection runs: its lists are in pieces, some of them on a stack of C.
static int wait_for_collection(void)
{
    struct timespec step = {0, COLLECTION_STEP_NS};
    uint64_t until = sonde_now() + MAX_COLLECTION_NS;
    while (sonde_heap_is_collecting()) {
        if (sonde_now() > until)
            return EBUSY;
        PyThreadState *meanwhile = PyEval_SaveThread();
        nanosleep(&step, NULL);
        PyEval_RestoreThread(meanwhile);
    }
    return 0;
}

// The caller holds the GIL, which is released while the copy walks.
static void take(int fd, uint64_t stuck_ns, bool (*is_wanted)(void), heap_answer *answer)
{
    heap_walker walker;
    answer->error = wait_for_collection();
    if (answer->error)
        return;
    uint64_t start = sonde_now();
    answer->error = sonde_heap_walker_start(&walker, fd);
    answer->pause_ns = sonde_now() - start;
    if (answer->error)
        return;
    PyThreadState *meanwhile = PyEval_SaveThread();
    answer->error =
        sonde_heap_walker_wait(&walker, stuck_ns, is_wanted, answer->type, sizeof answer->type);
    heap_progress *found = walker.progress;
    answer->walk_ns = found->walk_ns;
    answer->objects = found->objects;
    answer->edges = found->edges;
    answer->left_out = found->left_out;
    answer->interpreters_left_out = found->interpreters_left_out;
    munmap(found, sizeof *found);
    PyEval_RestoreThread(meanwhile);
}

static bool begin(void)
{
    bool free_ = false;
    return atomic_compare_exchange_strong(&under_way, &free_, true);
}

int sonde_heap_take(int fd, uint32_t stuck_ms, heap_answer *answer)
{
    *answer = (heap_answer){.magic = HEAP_REQUEST_MAGIC};
    if (!begin())
        return answer->error = EALREADY;
    take(fd, stuck_ms * (uint64_t)1000000, NULL, answer);
    atomic_store(&under_way, false);
    return answer->error;
}

// ---- asked for from outside

static void wake(void);
static void *body(void *unused);
static _Alignas(4096) char stack[256 << 10]; // in use until the thread was joined
static sonde_worker worker = {
    .name = "sonde-heap", .body = body, .wake = wake, .stack = stack, .stack_size = sizeof stack};

// The program's last thread ends: nobody is to wait for us.
static void wake(void)
{
    if (is_ours(&link_))
        shutdown(link_.fd, SHUT_RDWR);
}

static bool is_wanted(void)
{
    struct pollfd peer = {.fd = link_.fd, .events = POLLIN};
    sonde_exit_if_last();
    // It says nothing more: there is something to read when it has hung up.
    return is_ours(&link_) && poll(&peer, 1, 0) == 0;
}

static int open_link(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, socket_path);
    pthread_mutex_lock(&descriptors);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int error = fd < 0 || !keep(&link_, fd) ? errno : 0;
    pthread_mutex_unlock(&descriptors);
    if (error)
        return error;
    return connect(link_.fd, (struct sockaddr *)&address, sizeof address) ? errno : 0;
}

static int receive_message(heap_order *order)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {order, sizeof *order};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n = recvmsg(link_.fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *passed = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (!passed || passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS)
        return EPROTO;
    int fd;
    memcpy(&fd, CMSG_DATA(passed), sizeof fd);
    if (!keep(&file, fd))
        return EMFILE;
    return n == sizeof *order && order->magic == HEAP_REQUEST_MAGIC ? 0 : EPROTO;
}

static int receive_order(heap_order *order)
{
    struct pollfd peer = {.fd = link_.fd, .events = POLLIN};
    if (poll(&peer, 1, ORDER_MS) <= 0)
        return ETIMEDOUT;
    pthread_mutex_lock(&descriptors);
    int error = receive_message(order);
    pthread_mutex_unlock(&descriptors);
    return error;
}

static void answer_order(void)
{
    heap_order order;
    heap_answer answer = {.magic = HEAP_REQUEST_MAGIC};
    answer.error = receive_order(&order);
    if (!answer.error && (!Py_IsInitialized() || interpreter_is_finalizing()))
        answer.error = ESRCH;
    if (!answer.error) {
        uint64_t start = sonde_now();
        sonde_exit_if_last(); // before the GIL: no thread may be left to release it
        PyGILState_STATE gil = PyGILState_Ensure();
        answer.gil_ns = sonde_now() - start;
        if (is_wanted())
            take(file.fd, order.stuck_ms * (uint64_t)1000000, is_wanted, &answer);
        else
            answer.error = ECANCELED;
        PyGILState_Release(gil);
    }
    if (is_ours(&link_))
        (void)!send(link_.fd, &answer, sizeof answer, MSG_NOSIGNAL);
}

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    struct timespec settling = {0, (long)settling_ms * 1000000};
    if (settling_ms)
        nanosleep(&settling, NULL);
    if (open_link() == 0)
        answer_order();
    close_all();
    at_end();
    atomic_store(&under_way, false);
    return NULL;
}

int sonde_heap_request(const char *path, uint32_t settle_ms, void (*ended)(void))
{
    int saved = errno, error = 0;
    if (strlen(path) >= sizeof socket_path)
        error = ENAMETOOLONG;
    else if (!begin())
        error = EALREADY;
    else {
        strcpy(socket_path, path);
        at_end = ended;
        settling_ms = settle_ms;
        sonde_worker_join(&worker); // the last one has nothing left to do
        if ((error = sonde_worker_start(&worker)))
            atomic_store(&under_way, false);
    }
    errno = saved;
    return error;
}

void sonde_heap_before_fork(void) { pthread_mutex_lock(&descriptors); }

void sonde_heap_after_fork(void) { pthread_mutex_unlock(&descriptors); }

void sonde_heap_forked(void)
{
    pthread_mutex_unlock(&descriptors);
    if (!atomic_load(&under_way))
        return;
    int saved = errno;
    close_all();
    sonde_worker_forked(&worker);
    atomic_store(&under_way, false);
    errno = saved;
}
