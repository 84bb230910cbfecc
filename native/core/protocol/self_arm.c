#define _GNU_SOURCE
#include "core/protocol/self_arm.h"

#include "core/base/clock.h"
#include "core/protocol/handshake.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_EVENTS 2 // of the CPU clock, and of context switches

// perf_event_attr as of kernel 5.13, of which the headers of an older one know less.
typedef struct {
    uint32_t type, size;
    uint64_t config, period, sample_type, read_format, flags;
    uint32_t wakeup_events, bp_type;
    uint64_t config1, config2, branch_sample_type, sample_regs_user;
    uint32_t sample_stack_user;
    int32_t clockid;
    uint64_t sample_regs_intr;
    uint32_t aux_watermark;
    uint16_t sample_max_stack, reserved_2;
    uint32_t aux_sample_size, reserved_3;
    uint64_t sig_data;
} attributes;
_Static_assert(sizeof(attributes) == 128, "PERF_ATTR_SIZE_VER7");

#define INHERIT (UINT64_C(1) << 1)
#define EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define EXCLUDE_HV (UINT64_C(1) << 6)
#define INHERIT_THREAD (UINT64_C(1) << 35)
#define REMOVE_ON_EXEC (UINT64_C(1) << 36)
#define SIGTRAP_FLAG (UINT64_C(1) << 37)

// As src/sonde/record/system/perf_events.py opens them.
static int open_event(uint64_t config, uint64_t period, uint32_t kind, bool user_only)
{
    attributes a = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof a,
        .config = config,
        .period = period,
        .flags = INHERIT | EXCLUDE_HV | INHERIT_THREAD | REMOVE_ON_EXEC | SIGTRAP_FLAG |
                 (user_only ? EXCLUDE_KERNEL : 0),
        .sig_data = (uint64_t)SONDE_SIG_FIRST_ROUND << SONDE_SIG_ROUND_SHIFT |
                    1u << SONDE_SIG_NUMBER_SHIFT | kind,
    };
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool sonde_can_self_arm(const sonde_config *config, const sonde_orders *orders,
                        const sonde_arm *arm)
{
    uint32_t simple = SONDE_WHAT_CPU | SONDE_WHAT_WAITS | SONDE_WHAT_LOCKS | SONDE_WHAT_CHAINED |
                      SONDE_WHAT_CHECKED | SONDE_WHAT_ACTIVATIONS;
    if (arm->sampler != SONDE_SAMPLER_PERF || orders->has_events || !orders->period_ns)
        return false;
    if ((config->what | orders->what) & ~simple)
        return false;
    // A filter may kill the process that opens an event. The recorder has none.
    return prctl(PR_GET_SECCOMP) == 0;
}

static int open_events(const sonde_orders *orders, const sonde_arm *arm, int *events, int *count)
{
    if (orders->what & SONDE_WHAT_CPU) {
        int fd =
            open_event(PERF_COUNT_SW_TASK_CLOCK, orders->period_ns, SONDE_SIG_CPU, arm->exact_cpu);
        if (fd < 0)
            return errno;
        events[(*count)++] = fd;
    }
    if ((orders->what & SONDE_WHAT_WAITS) && arm->wait_signals) {
        int fd = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, SONDE_SIG_SWITCH, false);
        if (fd < 0)
            return errno;
        events[(*count)++] = fd;
    }
    return 0;
}

static int make_memory(const sonde_config *config)
{
    int memfd = (int)syscall(SYS_memfd_create, "sonde", MFD_CLOEXEC);
    if (memfd >= 0 && ftruncate(memfd, (off_t)config->size) != 0) {
        int error = errno;
        close(memfd);
        errno = error;
        return -1;
    }
    return memfd;
}

int sonde_self_arm(const sonde_config *config, const sonde_orders *orders, const sonde_arm *arm,
                   const sonde_self_hello *hello)
{
    int fds[1 + MAX_EVENTS], events = 0;
    fds[0] = make_memory(config);
    if (fds[0] < 0)
        return errno;
    int error = sonde_session_start(config, fds[0]);
    bool started = !error;
    if (started) {
        sonde_header *header = sonde.header;
        header->magic = SONDE_MAGIC;
        header->protocol = SONDE_PROTOCOL;
        header->nslots = config->nslots;
        header->ring_size = config->ring_size;
        atomic_store(&header->period_ns, orders->period_ns);
        atomic_store(&header->what, orders->what);
        sonde.exact_cpu = arm->exact_cpu;
        header->armed_ns = sonde_now();
        header->armed_cpu_ns = sonde_thread_cpu();
        if (hello->reason == SONDE_FORKED_ARMED)
            sonde.armed_tid = (uint32_t)syscall(SYS_gettid);
        error = open_events(orders, arm, fds + 1, &events);
    }
    if (!error)
        error = sonde_link_hand_over(hello->path, hello->reason, hello->runtime, hello->version_hex,
                                     fds, 1 + events);
    for (int i = 0; i <= events; i++)
        close(fds[i]);
    if (error && started)
        sonde_session_stop();
    return error;
}
