#define _GNU_SOURCE
#include "core/protocol/join_session.h"

#include "core/protocol/handshake.h"
#include "core/protocol/self_arm.h"
#include "core/sampling/sigtrap.h"
#include "core/signals/fault_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char socket_path[108];
static pid_t session_pid;
static sonde_arm armed; // how the recorder answered last

static int join_answered(const char *path, uint32_t reason, const sonde_runtime_facts *facts,
                         sonde_arm *arm, bool soon);

static void install(const sonde_runtime_facts *facts)
{
    sonde_guard_install();
    sonde_events_install(facts->find_data);
    sonde_trap_install(facts->walk, facts->marked_signals);
}

int sonde_join_session_forked(const char *path, const sonde_runtime_facts *facts, sonde_arm *arm)
{
    sonde_orders orders = sonde_parent_orders();
    int error;
    if (orders.what & SONDE_WHAT_END) {
        sonde_parent_forget(true); // nothing is missed: the recording is over
        return ESRCH;
    }
    if (sonde_can_self_arm(&sonde.config, &orders, &armed)) {
        session_pid = getpid();
        install(facts);
        sonde_config config = sonde.config;
        sonde_self_hello hello = {path, SONDE_FORKED_ARMED, facts->runtime, facts->version_hex};
        *arm = armed;
        error = sonde_self_arm(&config, &orders, arm, &hello);
        // Without the permission the recorder may have it.
        if (error == EACCES || error == EPERM)
            error = sonde_join_session(path, SONDE_FORKED, facts, arm);
    } else {
        error = sonde_join_session(path, SONDE_FORKED, facts, arm);
    }
    sonde_parent_forget(!error);
    return error;
}

// What the launcher wrote beside the socket for a program whose recorder is late
// (src/sonde/record/late_start.py).
typedef struct {
    sonde_config config;
    sonde_arm arm;
} late_config;

static bool read_late_config(const char *path, late_config *late)
{
    char name[sizeof socket_path + sizeof "config"];
    const char *end = strrchr(path, '/');
    size_t folder = end ? (size_t)(end + 1 - path) : 0;
    memcpy(name, path, folder);
    strcpy(name + folder, "config");
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = read(fd, late, sizeof *late) == (ssize_t)sizeof *late;
    close(fd);
    return whole && late->config.magic == SONDE_MAGIC && late->arm.magic == SONDE_MAGIC;
}

static bool can_start_late(const late_config *late)
{
    sonde_orders orders = {.what = late->config.what, .period_ns = late->config.period_ns};
    return sonde_can_self_arm(&late->config, &orders, &late->arm);
}

// The recorder is there and does not answer: it gets no CPU, or was stopped.
static int join_late(const char *path, const late_config *late, const sonde_runtime_facts *facts,
                     sonde_arm *arm)
{
    sonde_orders orders = {.what = late->config.what, .period_ns = late->config.period_ns};
    sonde_self_hello hello = {path, SONDE_START_ARMED, facts->runtime, facts->version_hex};
    install(facts);
    *arm = armed = late->arm;
    int error = sonde_self_arm(&late->config, &orders, arm, &hello);
    if (error)
        sonde_guard_remove();
    return error;
}

int sonde_join_session(const char *path, uint32_t reason, const sonde_runtime_facts *facts,
                       sonde_arm *arm)
{
    // A JVM has threads by now, and a process arms only one that then starts the others.
    late_config late;
    bool may_be_late = reason == SONDE_START && facts->runtime == SONDE_CPYTHON &&
                       strlen(path) < sizeof socket_path && read_late_config(path, &late) &&
                       can_start_late(&late);
    int error = join_answered(path, reason, facts, arm, may_be_late);
    return error == ETIMEDOUT && may_be_late ? join_late(path, &late, facts, arm) : error;
}

static int join_answered(const char *path, uint32_t reason, const sonde_runtime_facts *facts,
                         sonde_arm *arm, bool soon)
{
    sonde_link link;
    if (strlen(path) >= sizeof socket_path)
        return ENAMETOOLONG;
    if (path != socket_path)
        strcpy(socket_path, path);
    session_pid = getpid();
    link.timeout_ms = soon ? SONDE_SOON_MS : 0;
    int error = sonde_link_open(&link, path, (uint32_t)session_pid, reason, facts->runtime,
                                facts->version_hex);
    if (error)
        return error;
    install(facts);
    error = sonde_session_start(&link.config, link.memfd);
    *arm = (sonde_arm){0};
    int answered = sonde_link_ready(&link, (uint32_t)error, arm);
    sonde_link_close(&link);
    if (!error)
        error = answered;
    sonde.exact_cpu = arm->exact_cpu;
    armed = *arm;
    if (error)
        sonde_leave_session();
    return error;
}

void sonde_leave_session(void)
{
    sonde_session_stop();
    sonde_guard_remove();
}

EXPORT int sonde_agent_active(void) { return atomic_load(&sonde.generation) != 0; }

const char *sonde_session_socket(void) { return socket_path; }

#define CLOSING_NS 50000000

EXPORT void sonde_agent_before_exec(void)
{
    if (!atomic_load(&sonde.generation) || getpid() != session_pid)
        return;
    int saved = errno;
    // Of a recorder that ends, the kernel resets connections before it closes the events that were
    // on their way to it, as a child's are that has just armed itself.
    struct timespec closing = {0, CLOSING_NS};
    if (sonde_link_notify(socket_path, SONDE_EXEC))
        nanosleep(&closing, NULL);
    // One that came while the target had SIGTRAP blocked would stay pending in the new program.
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    struct timespec now = {0, 0};
    while (sigtimedwait(&trap, NULL, &now) > 0)
        ;
    errno = saved;
}

EXPORT void sonde_agent_exec_failed(void)
{
    if (!atomic_load(&sonde.generation) || getpid() != session_pid)
        return;
    int saved = errno;
    sonde_link_notify(socket_path, SONDE_EXEC_FAILED);
    errno = saved;
}

void sonde_agent_notify(uint32_t reason) { sonde_link_notify(socket_path, reason); }

EXPORT int sonde_agent_signal_action(int sig, const struct sigaction *set, struct sigaction *get)
{
    if (sig != SIGTRAP)
        return sonde_guard_user_action(sig, set, get);
    return sonde_trap_user_action(set, get);
}
