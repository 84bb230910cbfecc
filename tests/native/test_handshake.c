// The talk with the recorder: whatever is at the other end, the target goes on, soon, with no
// descriptor more than before.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/protocol/handshake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

static char folder[] = "/tmp/sonde-handshake-XXXXXX", path[64];

static int listener(int backlog)
{
    unlink(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(fd, backlog) == 0);
    return fd;
}

static int descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all))
        n++;
    closedir(all);
    return n;
}

// ---- a recorder that sends what the test wants

typedef struct {
    int listener;
    bool hangs_up;            // after the hello
    const void *config, *arm; // what is sent as these
    size_t config_size, arm_size;
    int fds_sent;      // with the config
    sonde_hello hello; // what came
    sonde_ready ready;
    ssize_t hello_size, ready_size;
} recorder;

static void send_with(int to, const void *data, size_t size, int n)
{
    int fds[4];
    for (int i = 0; i < n; i++)
        CHECK((fds[i] = memfd_create("sonde-test", MFD_CLOEXEC)) >= 0);
    char control[CMSG_SPACE(sizeof fds)];
    struct iovec part = {(void *)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
    }
    CHECK(sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)size);
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

static void *record(void *arg)
{
    recorder *r = arg;
    int fd = accept(r->listener, NULL, NULL);
    CHECK(fd >= 0);
    r->hello_size = recv(fd, &r->hello, sizeof r->hello, 0);
    if (r->config)
        send_with(fd, r->config, r->config_size, r->fds_sent);
    if (!r->hangs_up) {
        // Ends when the other side is done, whether it said more or not.
        r->ready_size = recv(fd, &r->ready, sizeof r->ready, 0);
        if (r->ready_size > 0 && r->arm)
            CHECK(send(fd, r->arm, r->arm_size, MSG_NOSIGNAL) == (ssize_t)r->arm_size);
        char rest;
        while (r->ready_size > 0 && recv(fd, &rest, 1, 0) > 0)
            ;
    }
    close(fd);
    return NULL;
}

static const sonde_config good_config = {
    .magic = SONDE_MAGIC, .protocol = SONDE_PROTOCOL, .size = 123, .nslots = 4, .ring_size = 4096};
static const sonde_arm good_arm = {.magic = SONDE_MAGIC, .sampler = SONDE_SAMPLER_READER};

static recorder good_recorder(void)
{
    return (recorder){.config = &good_config,
                      .config_size = sizeof good_config,
                      .fds_sent = 1,
                      .arm = &good_arm,
                      .arm_size = sizeof good_arm};
}

// What the agent gets from open and, where that went well, from ready.
static void talk(recorder *r, int *opened, int *armed, sonde_link *link, sonde_arm *arm)
{
    int before = descriptors();
    r->listener = listener(5);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, record, r) == 0);
    *armed = -1;
    *opened = sonde_link_open(link, path, 4711, SONDE_ATTACH, SONDE_HOTSPOT, 0x030c01f0);
    if (!*opened) {
        struct stat file;
        CHECK(fstat(link->memfd, &file) == 0);
        *armed = sonde_link_ready(link, 0, arm);
        sonde_link_close(link);
    }
    CHECK(link->socket == -1 && link->memfd == -1);
    pthread_join(thread, NULL);
    close(r->listener);
    CHECK_EQUAL(descriptors(), before);
}

static void expect(recorder r, int wanted_open, int wanted_ready)
{
    int opened, armed;
    sonde_link link = {0};
    sonde_arm arm;
    talk(&r, &opened, &armed, &link, &arm);
    CHECK_EQUAL(opened, wanted_open);
    if (!wanted_open)
        CHECK_EQUAL(armed, wanted_ready);
}

// ---- tests

static void talks(void)
{
    recorder r = good_recorder();
    int opened, armed;
    sonde_link link = {0};
    sonde_arm arm;
    talk(&r, &opened, &armed, &link, &arm);
    CHECK_EQUAL(opened, 0);
    CHECK_EQUAL(armed, 0);
    CHECK(memcmp(&link.config, &good_config, sizeof good_config) == 0);
    CHECK_EQUAL(arm.sampler, SONDE_SAMPLER_READER);
    CHECK_EQUAL(r.hello_size, sizeof r.hello);
    CHECK_EQUAL(r.hello.magic, SONDE_MAGIC);
    CHECK_EQUAL(r.hello.protocol, SONDE_PROTOCOL);
    CHECK_EQUAL(r.hello.pid, 4711);
    CHECK_EQUAL(r.hello.tid, syscall(SYS_gettid));
    CHECK_EQUAL(r.hello.ppid, getppid());
    CHECK_EQUAL(r.hello.reason, SONDE_ATTACH);
    CHECK_EQUAL(r.hello.version_hex, 0x030c01f0);
    CHECK_EQUAL(r.hello.runtime, SONDE_HOTSPOT);
    CHECK_EQUAL(r.ready_size, sizeof r.ready);
    CHECK_EQUAL(r.ready.magic, SONDE_MAGIC);
    CHECK_EQUAL(r.ready.status, 0);
}

static void has_nobody_to_talk_to(void)
{
    sonde_link link = {0};
    int before = descriptors();
    unlink(path);
    CHECK_EQUAL(sonde_link_open(&link, path, 1, SONDE_START, SONDE_CPYTHON, 0), ENOENT);
    close(listener(5)); // the socket's name outlives a recorder that was killed
    CHECK_EQUAL(sonde_link_open(&link, path, 1, SONDE_START, SONDE_CPYTHON, 0), ECONNREFUSED);
    CHECK_EQUAL(sonde_link_notify(path, SONDE_EXEC), ECONNREFUSED);
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK_EQUAL(sonde_link_open(&link, longer, 1, SONDE_START, SONDE_CPYTHON, 0), ENAMETOOLONG);
    CHECK_EQUAL(sonde_link_notify(longer, SONDE_EXEC), ENAMETOOLONG);
    CHECK(link.socket == -1 && link.memfd == -1);
    CHECK_EQUAL(descriptors(), before);
}

static void hears_nonsense(void)
{
    recorder r = good_recorder();
    r.config_size -= 4;
    expect(r, EPROTO, 0);
    r.config_size = 0; // not an end: a message of no bytes, with a descriptor
    expect(r, EPROTO, 0);
    r = good_recorder();
    r.fds_sent = 0;
    expect(r, EPROTO, 0);
    r = good_recorder();
    r.fds_sent = 4; // three too many: they must not stay open in the target
    expect(r, EPROTO, 0);
    r = good_recorder();
    r.fds_sent = 2;
    expect(r, EPROTO, 0);
    char longer[sizeof good_config + 8] = {0};
    r = good_recorder();
    r.config = longer;
    r.config_size = sizeof longer;
    expect(r, EPROTO, 0);
    r = good_recorder();
    r.arm_size -= 4;
    expect(r, 0, EPROTO);
    sonde_arm stranger = good_arm;
    stranger.magic++;
    r = good_recorder();
    r.arm = &stranger;
    expect(r, 0, EPROTO);
}

static void is_hung_up_on(void)
{
    recorder r = good_recorder();
    r.config = NULL;
    r.hangs_up = true;
    expect(r, EPROTO, 0);
    r = good_recorder();
    r.hangs_up = true;
    int opened, armed;
    sonde_link link = {0};
    sonde_arm arm;
    talk(&r, &opened, &armed, &link, &arm);
    CHECK_EQUAL(opened, 0);
    CHECK(armed == EPROTO || armed == EPIPE || armed == ECONNRESET); // by how fast it was
}

static void *wait_to_connect(void *link)
{
    CHECK_EQUAL(sonde_link_open(link, path, 1, SONDE_FORKED, SONDE_CPYTHON, 0), ETIMEDOUT);
    return NULL;
}

static int next_descriptor(void)
{
    int fd = dup(0);
    CHECK(fd >= 0);
    close(fd);
    return fd;
}

// While a thread waits to connect, the program gets the numbers that it gets without us.
static void takes_no_low_number(void)
{
    int expected = next_descriptor(), high = 200;
    while (fcntl(high, F_GETFD) < 0) // until it has its socket; main() limits the time
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK_EQUAL(next_descriptor(), expected);
}

static void does_not_wait_for_ever(void)
{
    int fd = listener(0); // nobody accepts
    sonde_link link = {0};
    int before = descriptors();
    CHECK_EQUAL(sonde_link_open(&link, path, 1, SONDE_FORKED, SONDE_CPYTHON, 0), ETIMEDOUT);
    // That one is still in the queue; from some length on connect itself would wait.
    int standing[4];
    for (int i = 0; i < 4; i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strcpy(address.sun_path, path);
        standing[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (connect(standing[i], (struct sockaddr *)&address, sizeof address) != 0)
            CHECK_EQUAL(errno, EAGAIN);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_to_connect, &link) == 0);
    takes_no_low_number();
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++)
        close(standing[i]);
    CHECK_EQUAL(descriptors(), before);
    close(fd);
    recorder r = good_recorder(); // says what to do, but never that it armed
    r.arm = NULL;
    expect(r, 0, ETIMEDOUT);
}

static void only_reports(void)
{
    recorder r = {.config = &good_arm, .config_size = sizeof good_arm};
    r.listener = listener(5);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, record, &r) == 0);
    CHECK_EQUAL(sonde_link_notify(path, SONDE_EXEC), 0);
    pthread_join(thread, NULL);
    close(r.listener);
    CHECK_EQUAL(r.hello.reason, SONDE_EXEC);
    CHECK_EQUAL(r.hello.pid, getpid());
}

int main(void)
{
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    alarm(60); // a wait without end is a failure
    RUN(talks);
    RUN(has_nobody_to_talk_to);
    RUN(hears_nonsense);
    RUN(is_hung_up_on);
    RUN(only_reports);
    RUN(does_not_wait_for_ever);
    unlink(path);
    rmdir(folder);
    return 0;
}
