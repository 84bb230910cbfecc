// SIGTRAP: perf's are samples, all others are the target's business.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/sampling/sigtrap.h"
#include "core/signals/fault_guard.h"
#include "core/signals/signal_actions.h"
#include "recorder_side.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

// ---- a walk whose result the test sets

static volatile uint32_t frames_to_find;
static volatile bool fault_in_walk;
static volatile uint64_t time_in_walk; // ns of CPU time
static volatile char *volatile nowhere = (char *)8;

__attribute__((no_sanitize("address", "undefined"))) static uint32_t
walk(sonde_thread *thread, const ucontext_t *context, sonde_event *event)
{
    CHECK(context && sonde_context_pc(context) && sonde_context_sp(context));
    CHECK(thread->mark->busy);
    if (fault_in_walk)
        *nowhere = 1;
    for (uint64_t start = sonde_thread_cpu(); sonde_thread_cpu() - start < time_in_walk;)
        ;
    for (uint32_t i = 0; i < frames_to_find; i++)
        sonde_stack(thread)[i] = i + 1;
    event->interpreter = 3;
    errno = EDOM; // must not be seen outside
    return frames_to_find;
}

static void set(void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    CHECK(sonde_sigaction(SIGTRAP, &action, NULL) == 0);
}

static void *handler_now(void)
{
    struct sigaction now;
    CHECK(sonde_sigaction(SIGTRAP, NULL, &now) == 0);
    return (void *)now.sa_sigaction;
}

// ---- signals as perf sends them. A process may send itself any siginfo.

static void tick(uint64_t data, uint32_t flags)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGTRAP;
    info.si_code = TRAP_PERF;
    struct {
        uint64_t data;
        uint32_t type, flags;
    } perf = {data, PERF_TYPE_SOFTWARE, flags};
    memcpy((char *)&info.si_addr + sizeof(void *), &perf, sizeof perf);
    CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGTRAP, &info) == 0);
}

static uint64_t sig_data(uint64_t round, uint64_t number, uint64_t kind)
{
    return round << SONDE_SIG_ROUND_SHIFT | number << 2 | kind;
}

static memory m;

static sonde_slot *my_slot(void)
{
    for (uint32_t i = 0; i < m.config.nslots; i++)
        if (atomic_load(&m.slots[i].tid) == (uint32_t)syscall(SYS_gettid))
            return &m.slots[i];
    return NULL;
}

static void begin(void)
{
    set(SIG_DFL);
    m = begin_session(4, 1u << 16);
    // Long, so that the first, slow run of a path is not an expensive handler.
    m.config.period_ns = 20000000;
    atomic_store(&m.header->period_ns, m.config.period_ns);
    sonde_guard_install();
    sonde_trap_install(walk, NULL);
    frames_to_find = 5;
    fault_in_walk = false;
    time_in_walk = 0;
}

static void end(void)
{
    sonde_session_stop();
    sonde_guard_remove();
    drop_memory(&m);
}

static void samples(void)
{
    begin();
    errno = EXDEV;
    uint64_t before = sonde_now();
    for (int i = 0; i < 3; i++)
        tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(errno, EXDEV);
    sonde_slot *slot = my_slot();
    CHECK(slot);
    CHECK_EQUAL(slot->taken, 3);
    decoded out = {.depth = 0};
    for (int i = 0; i < 3; i++) {
        const sonde_rec_sample *sample = take(&m, (uint32_t)(slot - m.slots), &out);
        CHECK(sample && sample->rec.state == SONDE_RUNNING && sample->rec.flags == 0);
        CHECK_EQUAL(sample->interpreter, 3);
        CHECK(sample->processor > 0 && sample->processor <= (uint32_t)get_nprocs_conf());
        CHECK(sample->time >= before && sample->time <= sonde_now());
        // Told by the other clock in between, so not to the nanosecond.
        CHECK(sample->cpu > 0 && sample->cpu <= sonde_thread_cpu() + m.config.period_ns);
        CHECK_EQUAL(out.depth, 5);
        CHECK_EQUAL(out.frames[0], 5);
        CHECK_EQUAL(out.frames[4], 1);
        done(&m, (uint32_t)(slot - m.slots), sample);
    }
    end();
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0); // late, after the end: no harm
}

static void counts_walks_that_fault(void)
{
    begin();
    fault_in_walk = true;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    fault_in_walk = false;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(my_slot()->taken, 2);
    CHECK_EQUAL(my_slot()->undecodable, 1);
    CHECK_EQUAL(atomic_load(&m.header->faults), 1);
    end();
}

static void other_handler(int sig) { _exit(sig); }

static void goes_above_a_handler_set_over_its_guard(void)
{
    begin();
    struct sigaction other, had, now;
    memset(&other, 0, sizeof other);
    other.sa_handler = other_handler;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK(sonde_sigaction(SIGSEGV, &other, &had) == 0);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    for (int i = 0; i < 8; i++) // asking at each would be the most expensive part of a rare one
        tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK(sonde_sigaction(SIGSEGV, NULL, &now) == 0);
    CHECK(now.sa_sigaction == had.sa_sigaction);
    fault_in_walk = true;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(my_slot()->undecodable, 1);
    end();
    CHECK(sonde_sigaction(SIGSEGV, NULL, &now) == 0);
    CHECK(now.sa_handler == other_handler);
    sonde_sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static void heeds_one_event_per_thread(void)
{
    begin();
    tick(sig_data(1, 7, SONDE_SIG_CPU), 0);
    tick(sig_data(1, 8, SONDE_SIG_CPU), 0); // inherited from the thread that made this one
    tick(sig_data(1, 7, SONDE_SIG_CPU), 0);
    tick(sig_data(1, 9, SONDE_SIG_SWITCH), 0); // of the other kind
    CHECK_EQUAL(my_slot()->taken, 3);
    CHECK_EQUAL(my_slot()->waits, 1);
    CHECK_EQUAL(my_slot()->duplicate, 1);
    // Armed again after a pause: whichever comes first.
    tick(sig_data(2, 8, SONDE_SIG_CPU), 0);
    tick(sig_data(2, 7, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(my_slot()->taken, 4);
    CHECK_EQUAL(my_slot()->duplicate, 2);
    end();
}

static void block(int how)
{
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    CHECK(sigprocmask(how, &trap, NULL) == 0);
}

static void does_not_believe_late_ones(void)
{
    begin();
    // As late as a thread is that just starts another one: still at the same place.
    for (uint64_t since = UINT64_MAX; since > m.config.period_ns;) {
        uint64_t before = sonde_thread_cpu();
        tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
        block(SIG_BLOCK);
        tick(sig_data(1, 1, SONDE_SIG_CPU), 1);
        block(SIG_UNBLOCK);
        since = sonde_thread_cpu() - before;
    }
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0); // elsewhere: the next one comes at no place twice
    sonde_slot *slot = my_slot();
    uint64_t taken = slot->taken, late = atomic_load(&m.header->async);
    CHECK(late > 0);
    decoded out = {.depth = 0};
    uint32_t index = (uint32_t)(slot - m.slots);
    for (const sonde_rec_sample *s; (s = take(&m, index, &out)); done(&m, index, s))
        ;
    CHECK_EQUAL(out.depth, 5);
    // After periods of other work it says nothing about that work: its time counts, its stack not.
    uint64_t undecodable = slot->undecodable, start = sonde_thread_cpu();
    block(SIG_BLOCK);
    tick(sig_data(1, 1, SONDE_SIG_CPU), 1);
    while (sonde_thread_cpu() - start < 5 * m.config.period_ns)
        ;
    block(SIG_UNBLOCK);
    CHECK_EQUAL(slot->taken, taken + 1);
    CHECK_EQUAL(slot->undecodable, undecodable + 1);
    CHECK_EQUAL(atomic_load(&m.header->async), late + 1);
    const sonde_rec_sample *sample = take(&m, index, &out);
    CHECK(sample && sample->rec.flags == SONDE_UNDECODABLE && out.depth == 0);
    end();
}

// However long walks take, most of the time is the thread's own.
static void rests_after_expensive_walks(void)
{
    begin();
    time_in_walk = 2 * m.config.period_ns;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0); // a single one may have been slow for another reason
    uint64_t before = sonde_thread_cpu();
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    uint64_t after = sonde_thread_cpu(), cost = after - before;
    sonde_slot *slot = my_slot();
    CHECK_EQUAL(slot->taken, 2);
    while (sonde_thread_cpu() < after + time_in_walk) // less than three times what it took
        tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(slot->taken, 2);
    while (sonde_thread_cpu() < after + 3 * cost)
        ;
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(slot->taken, 3);
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0); // the third in a row
    CHECK_EQUAL(slot->taken, 3);
    CHECK_EQUAL(slot->lost, 0);
    end();
}

static void does_not_rest_after_a_single_expensive_walk(void)
{
    begin();
    for (uint32_t i = 1; i <= 6; i++) {
        time_in_walk = i % 2 ? 2 * m.config.period_ns : 0;
        tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
        CHECK_EQUAL(my_slot()->taken, i);
    }
    end();
}

static void distinguishes_waits_from_preemption(void)
{
    begin();
    struct timespec while_ = {0, 1000000};
    decoded out = {.depth = 0};
    uint32_t index = 0, preempted = 0;
    for (int i = 0; i < 10; i++) {
        nanosleep(&while_, NULL);
        tick(sig_data(1, 1, SONDE_SIG_SWITCH), 0);
        index = (uint32_t)(my_slot() - m.slots);
        const sonde_rec_sample *sample = take(&m, index, &out);
        CHECK_EQUAL(sample->rec.state, SONDE_WAITING);
        done(&m, index, sample);
        // Off the CPU without having waited, unless the kernel itself just had to.
        tick(sig_data(1, 1, SONDE_SIG_SWITCH), 0);
        sample = take(&m, index, &out);
        preempted += sample->rec.state == SONDE_PREEMPTED;
        done(&m, index, sample);
    }
    CHECK(preempted > 0);
    uint64_t born = m.slots[index].birth_ns, now = sonde_now();
    CHECK(born && born <= now);
    end();
}

// ---- what is not perf's

static volatile sig_atomic_t handled, handled_code;

static void counts(int sig)
{
    CHECK(sig == SIGTRAP);
    handled++;
}

static void counts_info(int sig, siginfo_t *info, void *context)
{
    CHECK(sig == SIGTRAP && context);
    handled++;
    handled_code = info->si_code;
}

static void breakpoint(void) { __asm__ volatile("int3"); }
static void sent(void) { raise(SIGTRAP); }

static void (*was)(int);
static void (*then)(void);

static void trap_then(void)
{
    set(was);
    sonde_trap_install(walk, NULL);
    then();
    then();
}

static int ends_by(void (*before)(int), void (*happens)(void))
{
    was = before;
    then = happens;
    return signal_that_ends(trap_then);
}

static void leaves_the_rest_to_the_target(void)
{
    CHECK_EQUAL(ends_by(SIG_DFL, sent), SIGTRAP);
    CHECK_EQUAL(ends_by(SIG_DFL, breakpoint), SIGTRAP);
    CHECK_EQUAL(ends_by(SIG_IGN, sent), 0);
    CHECK_EQUAL(ends_by(SIG_IGN, breakpoint), SIGTRAP); // the kernel does not let it be ignored
    set(counts);
    sonde_trap_install(walk, NULL);
    void *ours = handler_now();
    CHECK(ours != (void *)counts);
    handled = 0;
    sent();
    breakpoint();
    CHECK_EQUAL(handled, 2);
    sonde_trap_install(walk, NULL); // again, as for every session: not our own successor
    CHECK(handler_now() == ours);
    sent();
    CHECK_EQUAL(handled, 3);
}

static void lets_the_target_set_its_own(void)
{
    set(counts);
    sonde_trap_install(walk, NULL);
    void *ours = handler_now();
    struct sigaction theirs, got;
    sonde_trap_user_action(NULL, &got);
    CHECK(got.sa_handler == counts);
    memset(&theirs, 0, sizeof theirs);
    theirs.sa_sigaction = counts_info;
    theirs.sa_flags = SA_SIGINFO;
    sonde_trap_user_action(&theirs, &got);
    CHECK(got.sa_handler == counts);
    sonde_trap_user_action(&theirs, &theirs);
    CHECK(theirs.sa_sigaction == counts_info);
    CHECK(handler_now() == ours);
    handled = 0;
    raise(SIGTRAP);
    CHECK_EQUAL(handled, 1);
    CHECK_EQUAL(handled_code, SI_TKILL);
    breakpoint();
    CHECK_EQUAL(handled, 2);
    CHECK_EQUAL(handled_code, SI_KERNEL);
    // perf's are not theirs, session or not.
    tick(sig_data(1, 1, SONDE_SIG_CPU), 0);
    CHECK_EQUAL(handled, 2);
}

// ---- the real thing

static int open_event(uint64_t config, uint64_t period, uint64_t data)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = config;
    attr.sample_period = period;
    attr.disabled = 1;
    attr.exclude_hv = 1;
    attr.sigtrap = 1;
    attr.remove_on_exec = 1;
    attr.sig_data = data;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void is_ticked_by_the_kernel(void)
{
    int clock_event = open_event(PERF_COUNT_SW_TASK_CLOCK, 100000, sig_data(1, 1, SONDE_SIG_CPU));
    int switches = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, sig_data(1, 1, SONDE_SIG_SWITCH));
    if (clock_event < 0 || switches < 0) {
        printf("  not tried: perf events are refused here (%s)\n", strerror(errno));
        return;
    }
    begin();
    ioctl(clock_event, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(switches, PERF_EVENT_IOC_ENABLE, 0);
    struct timespec while_ = {0, 5000000};
    decoded out = {.depth = 0};
    uint64_t running = 0, waited = 0, last = 0;
    uint64_t start = sonde_thread_cpu();
    while (sonde_thread_cpu() - start < 100000000 || waited < 5) {
        for (volatile int i = 0; i < 1000000; i++)
            ;
        nanosleep(&while_, NULL);
        sonde_slot *slot = my_slot();
        uint32_t index = slot ? (uint32_t)(slot - m.slots) : 0;
        for (const sonde_rec_sample *s; slot && (s = take(&m, index, &out));) {
            CHECK(s->time >= last);
            last = s->time;
            if (s->rec.flags & SONDE_UNDECODABLE)
                CHECK_EQUAL(out.depth, 0);
            else
                CHECK_EQUAL(out.depth, 5);
            *(s->rec.state == SONDE_RUNNING ? &running : &waited) += 1;
            done(&m, index, s);
        }
    }
    close(clock_event);
    close(switches);
    // 100 ms at one tick per 100 us would be 1000: no bound on time, only that it really ticks.
    CHECK(running > 50);
    CHECK_EQUAL(my_slot()->duplicate, 0);
    CHECK_EQUAL(my_slot()->lost, 0);
    end();
}

int main(void)
{
    set(SIG_DFL);
    RUN(samples);
    RUN(counts_walks_that_fault);
    RUN(goes_above_a_handler_set_over_its_guard);
    RUN(heeds_one_event_per_thread);
    RUN(does_not_believe_late_ones);
    RUN(rests_after_expensive_walks);
    RUN(does_not_rest_after_a_single_expensive_walk);
    RUN(distinguishes_waits_from_preemption);
    RUN(leaves_the_rest_to_the_target);
    RUN(lets_the_target_set_its_own);
    RUN(is_ticked_by_the_kernel);
    return 0;
}
