#define _GNU_SOURCE
#include "core/sampling/sigtrap.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/base/processor.h"
#include "core/sampling/call_windows.h"
#include "core/sampling/kernel_events.h"
#include "core/signals/fault_guard.h"
#include "core/signals/signal_actions.h"
#include "core/signals/signal_handover.h"
#include "core/signals/syscall_restart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

// The fields of a TRAP_PERF siginfo (asm-generic/siginfo.h, kernel 5.13), which glibc 2.36 does not
// name: they follow si_addr.
typedef struct {
    uint64_t data;
    uint32_t type, flags;
} perf_info;
#define PERF_ASYNC 1u // 5.18: SIGTRAP was blocked when the event fired, the moment has passed

const char sonde_timer_tick;

static struct sigaction user;
static _Atomic bool switches_signal; // the recorder has armed context-switch events

SONDE_HOT static void write_walked(sonde_thread *thread, const ucontext_t *context,
                                   sonde_event event)
{
    uint32_t depth = sonde_self_walk(thread, context, &event);
    sonde_write_stack(thread, depth, &event);
}

// Reading a thread's CPU clock is a system call, and the most expensive part of a sample. A thread
// whose last tick is hardly more than a period of the other clock ago was on CPU all the time: its
// CPU clock has advanced by just as much. Now and then it is read all the same, so that the errors
// of a thirty-second do not add up.
#define CPU_READ_EVERY 64

static bool is_measured(const sonde_thread *thread)
{
    return thread->handled == 0 || thread->handled % CPU_READ_EVERY == CPU_READ_EVERY - 1;
}

// Where waits are recorded, or ticks may be missing, the estimate is not good enough.
static bool is_exact(void) { return sonde.exact_cpu || (sonde_what() & SONDE_WHAT_WAITS); }

static uint64_t cpu_at(sonde_thread *thread, uint64_t now, bool needed)
{
    uint64_t period = sonde_period(), passed = now - thread->ticked;
    if (needed || is_exact() || is_measured(thread) || passed > period + period / 32)
        return thread->entered_cpu = sonde_thread_cpu();
    return thread->ticked_cpu + passed;
}

// When this thread was born, from /proc (in clock ticks): only system calls, once per thread.
static uint64_t birth_of_thread(uint64_t now)
{
    int fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return now;
    char text[512];
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return now;
    text[n] = 0;
    const char *at = strrchr(text, ')'); // the name before it may hold anything
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return now;
    uint64_t ticks = 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    // starttime counts from boot, suspended time included, in 1/100 s (USER_HZ) on every port.
    uint64_t age = sonde_clock(CLOCK_BOOTTIME) - ticks * 10000000u;
    return age < now ? now - age : 0;
}

static void on_switch(sonde_thread *thread, const ucontext_t *context, uint64_t now)
{
    if (!thread->slot->birth_ns)
        thread->slot->birth_ns = birth_of_thread(now);
    struct rusage usage;
    bool voluntary = true;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        voluntary = (uint64_t)usage.ru_nvcsw != thread->switches;
        thread->switches = (uint64_t)usage.ru_nvcsw;
    }
    sonde_event event = {.time = now,
                         .cpu = sonde_thread_cpu(),
                         .state = voluntary ? SONDE_WAITING : SONDE_PREEMPTED,
                         .activations = sonde_what() & SONDE_WHAT_ACTIVATIONS};
    thread->entered_cpu = thread->seen_cpu = event.cpu;
    thread->seen = now;
    thread->slot->waits++;
    write_walked(thread, context, event);
}

// Signals of one number do not queue. Where a tick falls into the very system call in which its
// thread then waits, only one of the two signals comes, and if that is the tick's, the stack of the
// wait is still the one we are in: it shows as time that passed and was not spent.
#define LOST_WAIT_NS 50000
#define BIRTH_IS_ROUNDED_BY 10000000u

static void find_lost_wait(sonde_thread *thread, const ucontext_t *context, uint64_t now,
                           uint64_t cpu)
{
    if (!(sonde_what() & SONDE_WHAT_WAITS) ||
        !atomic_load_explicit(&switches_signal, memory_order_relaxed))
        return;
    uint64_t passed, unsure = LOST_WAIT_NS;
    if (thread->seen) {
        passed = now - thread->seen;
    } else {
        if (!thread->slot->birth_ns)
            thread->slot->birth_ns = birth_of_thread(now);
        passed = now - thread->slot->birth_ns;
        unsure += BIRTH_IS_ROUNDED_BY;
    }
    if (passed > cpu - thread->seen_cpu + unsure)
        on_switch(thread, context, now);
    thread->seen = now;
    thread->seen_cpu = cpu;
}

// Of chained samples one in so many is a whole stack: pairs say little of how often callers far
// from the top of the stack are there, since they are written once.
#define WHOLE_EVERY 32

SONDE_HOT static void on_cpu_tick(sonde_thread *thread, const ucontext_t *context, uint64_t now,
                                  bool stale)
{
    sonde_event event = {.time = now,
                         .processor = sonde_processor(),
                         .state = SONDE_RUNNING,
                         .chained =
                             sonde_what() & SONDE_WHAT_CHAINED && thread->handled % WHOLE_EVERY,
                         .activations = sonde_what() & SONDE_WHAT_ACTIVATIONS};
    event.cpu = cpu_at(thread, now, stale || thread->throttled_until);
    find_lost_wait(thread, context, now, event.cpu);
    if (event.cpu < thread->throttled_until)
        return;
    thread->throttled_until = 0;
    // A tick that came late by less than a period (libc blocks signals while it starts a thread) is
    // as good as one that came in time; after more than that the stack is not the one that spent
    // it.
    bool too_late = stale && event.cpu - thread->ticked_cpu > 2 * sonde_period();
    thread->ticked_cpu = event.cpu;
    thread->ticked = now;
    if (too_late) {
        event.flags = SONDE_UNDECODABLE;
        sonde_write_stack(thread, 0, &event);
        return;
    }
    if (sonde_what() & SONDE_WHAT_CPU)
        write_walked(thread, context, event);
    sonde_windows_tick(thread, context);
}

// A handler that takes as long as the time between two ticks would leave its thread no time at all:
// thousands of frames at a high rate take that long. After two expensive ones in a row the thread
// is not sampled for three times as long as the second took; the next sample then represents the
// ticks between. One alone proves nothing: a thread's first handler touches everything for the
// first time, and steal time during a handler counts as its CPU time.
static void throttle(sonde_thread *thread, uint64_t entered_tsc)
{
    // The period in cycles of a 3 GHz clock: only an order of magnitude matters here.
    uint64_t much = sonde_period() / 4, cost = 0;
    if (__rdtsc() - entered_tsc > much * 3) {
        if (!thread->entered_cpu) { // it may have been preempted: measure it next time
            thread->throttled_until = 1;
            return;
        }
        cost = sonde_thread_cpu() - thread->entered_cpu;
    }
    if (cost > much) {
        thread->throttled_until = thread->was_expensive ? thread->entered_cpu + 4 * cost : 1;
        thread->was_expensive = true;
    } else if (thread->throttled_until <= 1) { // else a tick was left out, which proves nothing
        thread->was_expensive = false;
    }
}

// The handlers' overhead, in CPU time: elapsed time would include that another thread was on the
// core. A thread's first handler, which touches everything for the first time, represents itself;
// of the others one represents all since the last that was measured.
static void count_own_time(sonde_thread *thread)
{
    if (is_measured(thread) && thread->entered_cpu) {
        uint64_t cost = sonde_thread_cpu() - thread->entered_cpu, read = sonde.cpu_read_ns;
        thread->slot->agent_ns += cost + read;
        // The others did not read the clock.
        if (thread->handled)
            thread->slot->agent_ns +=
                (CPU_READ_EVERY - 1) * (is_exact() || cost < read ? cost : cost - read);
    }
    thread->handled++;
    thread->entered_cpu = 0;
}

// One signal of an event that this thread listens to.
SONDE_HOT static void dispatch_signal(sonde_thread *thread, const ucontext_t *context,
                                      const sonde_event_signal *by, bool late)
{
    sonde_events_entered(thread);
    switch (by->sig_data & SONDE_SIG_KIND) {
    case SONDE_SIG_CPU:
        on_cpu_tick(thread, context, by->time, by->stale);
        if (!late)
            sonde_events_missed(thread, context, by->time);
        break;
    case SONDE_SIG_SWITCH:
        if (by->stale)
            break;
        atomic_store_explicit(&switches_signal, true, memory_order_relaxed);
        on_switch(thread, context, by->time);
        break;
    default:
        sonde_on_event(thread, context, by);
    }
    sonde_events_left(thread);
}

SONDE_HOT __attribute__((noinline)) static void sample(const siginfo_t *info,
                                                       const ucontext_t *context)
{
    uint64_t now = sonde_now(), tsc = __rdtsc();
    perf_info perf;
    memcpy(&perf, (char *)&info->si_addr + sizeof(void *), sizeof perf);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        sonde_ring_expect(&thread->ring);
        // A thread born while the recorder armed its parent has an event of its own and an
        // inherited one; the first that fires stays, until threads are armed again after a pause.
        uint64_t *armed_by = &thread->armed_by[sonde_armed_place(perf.data)];
        if (*armed_by >> SONDE_SIG_ROUND_SHIFT != perf.data >> SONDE_SIG_ROUND_SHIFT)
            *armed_by = perf.data;
        // SIGTRAP is blocked in this very handler too: a tick that fell into it comes when we
        // return, at the same instruction, and the stack is as good as ever.
        uint64_t pc = (uint64_t)sonde_context_pc(context), sp = (uint64_t)sonde_context_sp(context);
        bool late = perf.flags & PERF_ASYNC;
        bool stale = late && (pc != thread->last_pc || sp != thread->last_sp);
        thread->last_pc = pc;
        thread->last_sp = sp;
        if (stale)
            atomic_fetch_add(&sonde.header->async, 1);
        if (*armed_by != perf.data) {
            thread->slot->duplicate++;
        } else if ((perf.data & SONDE_SIG_KIND) == SONDE_SIG_EVENT && late && !stale) {
            // This handler caused it. Anything done now may cause another, and so on without end.
        } else {
            uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
            dispatch_signal(thread, context, &(sonde_event_signal){perf.data, address, now, stale},
                            late);
            throttle(thread, tsc);
            count_own_time(thread);
        }
        sonde_leave(thread);
    }
}

static bool is_timer_tick(const siginfo_t *info)
{
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == &sonde_timer_tick;
}

SONDE_HOT __attribute__((noinline)) static void sample_by_timer(const ucontext_t *context)
{
    uint64_t now = sonde_now(), tsc = __rdtsc();
    sonde_thread *thread = sonde_enter();
    if (!thread)
        return;
    sonde_ring_expect(&thread->ring);
    on_cpu_tick(thread, context, now, false);
    throttle(thread, tsc);
    count_own_time(thread);
    sonde_leave(thread);
}

// Small, so that what the kernel has left below is still there for sonde_restart_check.
SONDE_HOT static void on_trap(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    bool by_timer = is_timer_tick(info), handover = sonde_is_handover(info);
    if (info->si_code != TRAP_PERF && !by_timer && !handover) {
        sonde_restart_as(context, &user);
        errno = saved;
        sonde_run_action(&user, sig, info, context);
        return;
    }
    sonde_restart_check(context, (uintptr_t)on_trap);
    sonde_handover_check(context);
    if (by_timer)
        sample_by_timer(context);
    else if (!handover)
        sample(info, context);
    errno = saved;
}

static void install(uint64_t blocked)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_trap;
    // RESTART so that no system call of the target ends early, but see syscall_restart.h; ONSTACK
    // because coroutine libraries run on small stacks and give the thread an alternate one.
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    memcpy(&ours.sa_mask, &blocked, sizeof blocked);
    sonde_sigaction(SIGTRAP, &ours, NULL);
}

void sonde_trap_install(sonde_walk_self *walk, sonde_marked_signals *marked)
{
    sonde_self_walk_use(walk);
    sonde_handover_prepare(marked);
    struct sigaction now;
    if (sonde_sigaction(SIGTRAP, NULL, &now) != 0)
        return;
    if (now.sa_sigaction == on_trap) {
        sonde_trap_refresh();
        return;
    }
    user = now;
    sonde_restart_prepare();
    install(sonde_restart_mask());
}

void sonde_trap_refresh(void)
{
    static _Atomic bool refreshing;
    struct sigaction now;
    uint64_t has, wanted;
    if (atomic_exchange(&refreshing, true))
        return;
    if (sonde_sigaction(SIGTRAP, NULL, &now) == 0 && now.sa_sigaction == on_trap) {
        memcpy(&has, &now.sa_mask, sizeof has);
        wanted = sonde_restart_mask();
        if (has != wanted)
            install(wanted);
    }
    atomic_store(&refreshing, false);
}

bool sonde_trap_user_action(const struct sigaction *set, struct sigaction *get)
{
    struct sigaction now, had = user;
    if (sonde_sigaction(SIGTRAP, NULL, &now) != 0 || now.sa_sigaction != on_trap)
        return false;
    if (set)
        user = *set;
    if (get)
        *get = had;
    return true;
}
