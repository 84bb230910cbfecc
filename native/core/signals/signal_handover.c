#define _GNU_SOURCE
#include "core/signals/signal_handover.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/signals/syscall_restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static sonde_marked_signals *marked_signals;
static const char handover; // its address is the value that our SIGTRAP carries

// A mark may stay for long where the main thread runs C code. The signal itself would have
// interrupted a call once; a second and a third try are for a main thread that was between two.
#define MAX_TRIES 3
#define FIRST_PAUSE_NS 20000000u
static _Atomic uint32_t tries;
static _Atomic uint64_t next_try; // 0: at once

void sonde_handover_prepare(sonde_marked_signals *marked)
{
    marked_signals = marked;
    atomic_store(&tries, 0);
    atomic_store(&next_try, 0);
}

bool sonde_is_handover(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &handover;
}

static bool read_hex(const char *text, uint64_t *value)
{
    *value = 0;
    int digits = 0;
    for (; digits < 16; digits++) {
        char c = text[digits];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            break;
        *value = *value << 4 | (uint64_t)digit;
    }
    return digits == 16;
}

// What the main thread has blocked, from /proc; all where that cannot be read. A signal that it
// blocks was never delivered to it, and must not interrupt it.
static uint64_t blocked_by_main(pid_t pid)
{
    char path[sizeof "/proc/self/task//status" + 10] = "/proc/self/task/";
    char digits[10];
    int n = 0;
    for (pid_t left = pid; left; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    size_t at = strlen(path);
    while (n)
        path[at++] = digits[--n];
    strcpy(path + at, "/status");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return UINT64_MAX;
    char text[4096];
    size_t size = 0;
    for (ssize_t got; size < sizeof text - 1; size += (size_t)got)
        if ((got = read(fd, text + size, sizeof text - 1 - size)) <= 0)
            break;
    close(fd);
    text[size] = 0;
    static const char name[] = "\nSigBlk:\t";
    const char *line = strstr(text, name);
    uint64_t blocked;
    return line && read_hex(line + sizeof name - 1, &blocked) ? blocked : UINT64_MAX;
}

static void hand_over(uint64_t signals, pid_t pid)
{
    uint64_t now = sonde_now(), due = atomic_load(&next_try);
    uint32_t tried = atomic_load(&tries);
    if (tried >= MAX_TRIES || now < due ||
        !atomic_compare_exchange_strong(&tries, &tried, tried + 1))
        return;
    atomic_store(&next_try, now + ((uint64_t)FIRST_PAUSE_NS << (3 * tried)));
    if (!(signals & ~blocked_by_main(pid)))
        return;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGTRAP;
    info.si_code = SI_QUEUE;
    info.si_pid = pid;
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)&handover;
    syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGTRAP, &info);
}

SONDE_HOT void sonde_handover_check(ucontext_t *context)
{
    if (!marked_signals)
        return;
    uint64_t signals = marked_signals();
    if (!signals) {
        if (atomic_load_explicit(&tries, memory_order_relaxed)) {
            atomic_store(&next_try, 0);
            atomic_store(&tries, 0);
        }
        return;
    }
    pid_t pid = getpid();
    if (syscall(SYS_gettid) == pid)
        sonde_restart_for(context, signals);
    else
        hand_over(signals, pid);
}
