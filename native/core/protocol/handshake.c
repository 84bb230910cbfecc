#define _GNU_SOURCE
#include "core/protocol/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// A recorder that does not answer must not keep the target waiting for long. One that has ended is
// noticed at once; this is for one that is stopped or gets no CPU. On a computer that busy, a
// program or session that starts waits a little rather than go unrecorded.
#define ANSWER_MS 2000
#define START_MS 5000
#define API_MS 10000
// Above those that programs expect to get next.
#define HIGH_DESCRIPTOR 200

static int wait_readable(const sonde_link *link)
{
    struct pollfd p = {.fd = link->socket, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, link->timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : n == 0 ? ETIMEDOUT : errno;
}

static int send_all(int fd, const void *data, size_t size)
{
    ssize_t n;
    do
        n = send(fd, data, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size ? 0 : n < 0 ? errno : EPROTO;
}

// SOCK_SEQPACKET: a message is whole or not there.
static int receive(const sonde_link *link, void *data, size_t size, int *passed)
{
    int error = wait_readable(link);
    if (error)
        return error;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_LEN(sizeof(int)); // no room for a second descriptor
    }
    ssize_t n;
    do
        n = recvmsg(link->socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno;
    if (passed) {
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(passed, CMSG_DATA(c), sizeof *passed);
    }
    bool cut = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
    return n == (ssize_t)size && !cut ? 0 : EPROTO;
}

static uint32_t own_tid(void) { return (uint32_t)syscall(SYS_gettid); }

static int address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

static sonde_hello hello_of(uint32_t pid, uint32_t tid, uint32_t reason, uint32_t runtime,
                            uint32_t version_hex)
{
    return (sonde_hello){
        .magic = SONDE_MAGIC,
        .protocol = SONDE_PROTOCOL,
        .pid = pid,
        .tid = tid,
        .ppid = (uint32_t)getppid(),
        .reason = reason,
        .version_hex = version_hex,
        .runtime = runtime,
    };
}

// Before it connects, which may take long: meanwhile the program would get another number than it
// expects, or close the socket with one that it believes to be its own.
static int new_socket(int flags)
{
    int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high < 0)
        return low; // the limit of descriptors is lower than that
    close(low);
    return high;
}

static int introduce(sonde_link *link, const char *path, uint32_t pid, uint32_t tid,
                     uint32_t reason, uint32_t runtime, uint32_t version_hex)
{
    int asked = link->timeout_ms;
    memset(link, 0, sizeof *link);
    link->socket = link->memfd = -1;
    link->timeout_ms = asked                   ? asked
                       : reason == SONDE_API   ? API_MS
                       : reason == SONDE_START ? START_MS
                                               : ANSWER_MS;
    struct sockaddr_un address;
    int wrong = address_of(path, &address);
    if (wrong)
        return wrong;
    link->socket = new_socket(0);
    if (link->socket < 0)
        return errno;
    sonde_hello hello = hello_of(pid, tid, reason, runtime, version_hex);
    // Where more connections wait than the recorder accepts, connect waits for it too.
    struct timeval most = {link->timeout_ms / 1000, link->timeout_ms % 1000 * 1000};
    setsockopt(link->socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    int error = connect(link->socket, (struct sockaddr *)&address, sizeof address) ? errno : 0;
    if (error == EAGAIN)
        return ETIMEDOUT;
    return error ? error : send_all(link->socket, &hello, sizeof hello);
}

int sonde_link_open(sonde_link *link, const char *path, uint32_t pid, uint32_t reason,
                    uint32_t runtime, uint32_t version_hex)
{
    int error = introduce(link, path, pid, own_tid(), reason, runtime, version_hex);
    if (!error)
        error = receive(link, &link->config, sizeof link->config, &link->memfd);
    if (!error && link->memfd < 0)
        error = EPROTO;
    if (error)
        sonde_link_close(link);
    return error;
}

int sonde_link_notify(const char *path, uint32_t reason)
{
    sonde_link link = {0};
    sonde_arm answer;
    int error = introduce(&link, path, (uint32_t)getpid(), own_tid(), reason, 0, 0);
    if (!error)
        error = receive(&link, &answer, sizeof answer, NULL);
    sonde_link_close(&link);
    return error;
}

int sonde_link_control(sonde_link *link, const char *path, bool by_itself)
{
    uint32_t tid = by_itself ? own_tid() : 0;
    int error = introduce(link, path, (uint32_t)getpid(), tid, SONDE_CONTROL, 0, 0);
    if (error)
        sonde_link_close(link);
    return error;
}

int sonde_link_ready(sonde_link *link, uint32_t status, sonde_arm *arm)
{
    sonde_ready ready = {SONDE_MAGIC, status};
    int error = send_all(link->socket, &ready, sizeof ready);
    if (!error)
        error = receive(link, arm, sizeof *arm, NULL);
    return !error && arm->magic != SONDE_MAGIC ? EPROTO : error;
}

int sonde_link_hand_over(const char *path, uint32_t reason, uint32_t runtime, uint32_t version_hex,
                         const int *fds, int count)
{
    struct sockaddr_un address;
    int error = address_of(path, &address);
    if (error)
        return error;
    int to = new_socket(SOCK_NONBLOCK);
    if (to < 0)
        return errno;
    sonde_hello hello = hello_of((uint32_t)getpid(), own_tid(), reason, runtime, version_hex);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SONDE_MAX_HANDED_OVER * sizeof(int))];
    } control = {0};
    struct iovec part = {&hello, sizeof hello};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(rights), fds, (size_t)count * sizeof(int));
    if (connect(to, (struct sockaddr *)&address, sizeof address) != 0)
        error = errno;
    else if (sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof hello)
        error = errno;
    close(to);
    return error;
}

void sonde_link_close(sonde_link *link)
{
    if (link->memfd >= 0)
        close(link->memfd);
    if (link->socket >= 0)
        close(link->socket);
    link->memfd = link->socket = -1;
}
