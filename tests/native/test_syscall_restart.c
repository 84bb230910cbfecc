// System calls that a signal of the program interrupts while perf's SIGTRAP comes after every wait:
// they end, or go on, as they would without it.
#define _GNU_SOURCE
#include "check.h"
#include "core/sampling/sigtrap.h"
#include "core/signals/fault_guard.h"
#include "core/signals/signal_actions.h"
#include "core/signals/signal_handover.h"
#include "core/signals/syscall_restart.h"
#include "recorder_side.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>

#define TURNS 50

static uint32_t walk(sonde_thread *thread, const ucontext_t *context, sonde_event *event)
{
    (void)context;
    (void)event;
    sonde_stack(thread)[0] = 1;
    return 1;
}

static int switches = -1;
static pid_t main_tid;

static bool begin_events(void)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr.sample_period = 1;
    attr.exclude_hv = 1;
    attr.sigtrap = 1;
    attr.remove_on_exec = 1;
    attr.sig_data = (uint64_t)1 << SONDE_SIG_ROUND_SHIFT | 4 | SONDE_SIG_SWITCH;
    switches = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return switches >= 0;
}

// ---- the program's handlers

static volatile sig_atomic_t ran, ran_elsewhere;

static void count(int sig)
{
    (void)sig;
    ran++;
    ran_elsewhere += syscall(SYS_gettid) != main_tid;
}

static void set(int sig, int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    action.sa_flags = flags;
    CHECK(sonde_sigaction(sig, &action, NULL) == 0);
    sonde_trap_refresh();
}

static void unset(int sig)
{
    CHECK(sonde_sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL) == 0);
    sonde_trap_refresh();
}

// ---- one who sends a signal to the process once its main thread sleeps

static int wanted[2], finished[2], full[2], empty[2];

static bool sleeps(void)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", main_tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    CHECK(n > 0);
    text[n] = 0;
    return strrchr(text, ')')[2] == 'S';
}

static void wait_until_it_sleeps(void)
{
    for (int quiet = 0; quiet < 2; quiet = sleeps() ? quiet + 1 : 0)
        nanosleep(&(struct timespec){0, 300000}, NULL);
}

static void *send_signals(void *unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int order; read(wanted[0], &order, sizeof order) == sizeof order;) {
        wait_until_it_sleeps();
        CHECK(kill(getpid(), abs(order)) == 0);
        if (order < 0) { // the call is to go on until there is something to read
            wait_until_it_sleeps();
            CHECK(write(full[1], "x", 1) == 1);
        }
        char byte;
        CHECK(read(finished[0], &byte, 1) == 1);
    }
    return NULL;
}

static void expect(int order) { CHECK(write(wanted[1], &order, sizeof order) == sizeof order); }
static void over(void) { CHECK(write(finished[1], "d", 1) == 1); }

// Something that waits for ever: a hang is an end by SIGALRM, see check.h.
static int read_empty(void)
{
    char byte;
    return (int)read(empty[0], &byte, 1);
}

static sem_t semaphore;
static int wait_semaphore(void) { return sem_wait(&semaphore); }

static int locked[2];
static int lock_file(void) { return flock(locked[1], LOCK_EX); }

static int suspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}

static void is_interrupted(int (*call)(void), int sig)
{
    for (int i = 0; i < TURNS; i++) {
        int before = ran;
        expect(sig);
        errno = 0;
        CHECK_EQUAL(call(), -1);
        CHECK_EQUAL(errno, EINTR);
        CHECK_EQUAL(ran, before + 1); // by now
        over();
    }
}

static void goes_on(int sig)
{
    for (int i = 0; i < TURNS; i++) {
        int before = ran;
        char byte;
        expect(-sig);
        CHECK_EQUAL(read(full[0], &byte, 1), 1);
        CHECK_EQUAL(ran, before + 1);
        over();
    }
}

static void handlers_without_sa_restart_interrupt(void)
{
    set(SIGUSR1, 0);
    is_interrupted(read_empty, SIGUSR1);
    is_interrupted(wait_semaphore, SIGUSR1);
    is_interrupted(lock_file, SIGUSR1);
    set(SIGUSR1, SA_SIGINFO | SA_NODEFER);
    is_interrupted(read_empty, SIGUSR1);
    unset(SIGUSR1);
}

static void handlers_with_sa_restart_do_not(void)
{
    set(SIGUSR1, SA_RESTART);
    goes_on(SIGUSR1);
    set(SIGUSR2, 0); // one of the other kind beside it
    goes_on(SIGUSR1);
    is_interrupted(read_empty, SIGUSR2);
    set(SIGUSR1, SA_RESTART | SA_SIGINFO);
    set(SIGUSR2, SA_SIGINFO);
    goes_on(SIGUSR1);
    is_interrupted(read_empty, SIGUSR2);
    unset(SIGUSR1);
    unset(SIGUSR2);
}

static void a_handler_runs_before_sigsuspend_returns(void)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &one, &before) == 0);
    set(SIGUSR1, 0);
    is_interrupted(suspend, SIGUSR1);
    set(SIGUSR1, SA_RESTART);
    is_interrupted(suspend, SIGUSR1);
    CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    unset(SIGUSR1);
}

// The program's own SIGTRAP, which our handler passes on.
static void its_own_sigtrap_interrupts(void)
{
    struct sigaction theirs = {.sa_handler = count};
    sonde_trap_user_action(&theirs, NULL);
    is_interrupted(read_empty, SIGTRAP);
    theirs.sa_flags = SA_RESTART;
    sonde_trap_user_action(&theirs, NULL);
    goes_on(SIGTRAP);
    theirs = (struct sigaction){.sa_handler = SIG_DFL};
    sonde_trap_user_action(&theirs, NULL);
}

// Another thread that could take the signal does not get it: the kernel prefers the main thread.
static _Atomic bool enough;

static void *computes(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough))
        ;
    return NULL;
}

static void the_same_thread_gets_the_signal(void)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, computes, NULL) == 0);
    set(SIGUSR1, 0);
    ran_elsewhere = 0;
    is_interrupted(read_empty, SIGUSR1);
    CHECK_EQUAL(ran_elsewhere, 0);
    unset(SIGUSR1);
    atomic_store(&enough, true);
    pthread_join(other, NULL);
}

// ---- signals that another thread took

static _Atomic uint64_t marked;
static uint64_t marked_signals(void) { return atomic_load(&marked); }

// What a tick of another thread does, once the main thread sleeps.
static void *looks(void *unused)
{
    (void)unused;
    for (int order; read(wanted[0], &order, sizeof order) == sizeof order;) {
        ucontext_t context;
        memset(&context, 0, sizeof context);
        wait_until_it_sleeps();
        atomic_store(&marked, (uint64_t)1 << (abs(order) - 1));
        sonde_handover_check(&context);
        if (order < 0) {
            wait_until_it_sleeps();
            CHECK(write(full[1], "x", 1) == 1);
        }
        char byte;
        CHECK(read(finished[0], &byte, 1) == 1);
    }
    return NULL;
}

static void seen(void)
{
    ucontext_t context;
    memset(&context, 0, sizeof context);
    atomic_store(&marked, 0);
    sonde_handover_check(&context);
    over();
}

static void interrupts_for_another(int sig)
{
    expect(sig);
    errno = 0;
    CHECK_EQUAL(read_empty(), -1);
    CHECK_EQUAL(errno, EINTR);
    seen();
}

static void goes_on_for_another(int sig)
{
    char byte;
    expect(-sig);
    CHECK_EQUAL(read(full[0], &byte, 1), 1);
    seen();
}

static void signals_that_another_thread_took_interrupt(void)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, looks, NULL) == 0);
    sonde_handover_prepare(marked_signals);
    set(SIGUSR1, 0);
    set(SIGUSR2, SA_RESTART);
    for (int i = 0; i < TURNS; i++) {
        interrupts_for_another(SIGUSR1);
        goes_on_for_another(SIGUSR2);
    }
    // One that the main thread blocks was sent to the other.
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &one, &before) == 0);
    goes_on_for_another(SIGUSR1);
    CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    interrupts_for_another(SIGUSR1);
    // Nobody looks at the mark: the next call is left alone at first, and soon for good.
    expect(SIGUSR1);
    CHECK_EQUAL(read_empty(), -1);
    over();
    goes_on_for_another(SIGUSR1);
    unset(SIGUSR1);
    unset(SIGUSR2);
    sonde_handover_prepare(NULL);
    close(wanted[1]);
    pthread_join(other, NULL);
    close(wanted[0]);
    CHECK(pipe(wanted) == 0);
}

// ---- calls that are never to return EINTR, and code that only looks like one

static const uint8_t instruction[] = {0x0f, 0x05, 0x90};

static ucontext_t made_up(long number, long second)
{
    ucontext_t context;
    memset(&context, 0, sizeof context);
    greg_t *registers = context.uc_mcontext.gregs;
    registers[REG_RAX] = number;
    registers[REG_RSI] = second;
    registers[REG_RIP] = (greg_t)(uintptr_t)instruction;
    registers[REG_RCX] = registers[REG_RIP] + 2;
    return context;
}

static bool would_interrupt(ucontext_t context)
{
    struct sigaction no_restart = {.sa_handler = count};
    ucontext_t before = context;
    sonde_restart_as(&context, &no_restart);
    bool changed = memcmp(&before, &context, sizeof context) != 0;
    if (changed) {
        CHECK_EQUAL(context.uc_mcontext.gregs[REG_RAX], -EINTR);
        CHECK_EQUAL(context.uc_mcontext.gregs[REG_RIP], before.uc_mcontext.gregs[REG_RIP] + 2);
    }
    return changed;
}

static void only_calls_that_heed_sa_restart_are_changed(void)
{
    CHECK(would_interrupt(made_up(SYS_read, 0)));
    CHECK(would_interrupt(made_up(SYS_fcntl, F_SETLKW)));
    CHECK(!would_interrupt(made_up(SYS_fcntl, F_SETFL)));
    CHECK(would_interrupt(made_up(SYS_futex, FUTEX_WAIT_PRIVATE)));
    CHECK(would_interrupt(made_up(SYS_futex, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME)));
    CHECK(!would_interrupt(made_up(SYS_futex, FUTEX_LOCK_PI_PRIVATE)));
    CHECK(!would_interrupt(made_up(SYS_futex, FUTEX_WAIT_REQUEUE_PI)));
    for (long number = 0; number < 600; number++)
        if (number == SYS_clone || number == SYS_fork || number == SYS_vfork ||
            number == SYS_clone3 || number == SYS_execve || number == SYS_exit ||
            number == SYS_close || number == SYS_restart_syscall || number == SYS_rt_sigreturn)
            CHECK(!would_interrupt(made_up(number, 0)));
    ucontext_t context = made_up(SYS_read, 0);
    context.uc_mcontext.gregs[REG_RIP]++; // no such instruction
    context.uc_mcontext.gregs[REG_RCX]++;
    CHECK(!would_interrupt(context));
    context.uc_mcontext.gregs[REG_RIP] = 8; // nowhere
    context.uc_mcontext.gregs[REG_RCX] = 10;
    CHECK(!would_interrupt(context));
    struct sigaction restarts = {.sa_handler = count, .sa_flags = SA_RESTART};
    context = made_up(SYS_read, 0);
    sonde_restart_as(&context, &restarts);
    CHECK_EQUAL(context.uc_mcontext.gregs[REG_RAX], SYS_read);
    sonde_restart_as(&context, &(struct sigaction){.sa_handler = SIG_IGN});
    CHECK_EQUAL(context.uc_mcontext.gregs[REG_RAX], SYS_read);
}

int main(void)
{
    alarm(100);
    main_tid = (pid_t)syscall(SYS_gettid);
    memory m = begin_session(4, 1u << 20);
    sonde_guard_install();
    sonde_trap_install(walk, NULL);
    RUN(only_calls_that_heed_sa_restart_are_changed);
    if (begin_events()) {
        char name[] = "/tmp/sonde-restart-XXXXXX";
        locked[0] = mkstemp(name);
        locked[1] = open(name, O_RDWR | O_CLOEXEC);
        CHECK(unlink(name) == 0 && flock(locked[0], LOCK_EX) == 0);
        CHECK(pipe(wanted) == 0 && pipe(finished) == 0 && pipe(full) == 0 && pipe(empty) == 0);
        CHECK(sem_init(&semaphore, 0, 0) == 0);
        RUN(signals_that_another_thread_took_interrupt);
        pthread_t sender;
        CHECK(pthread_create(&sender, NULL, send_signals, NULL) == 0);
        RUN(handlers_without_sa_restart_interrupt);
        RUN(handlers_with_sa_restart_do_not);
        RUN(a_handler_runs_before_sigsuspend_returns);
        RUN(its_own_sigtrap_interrupts);
        RUN(the_same_thread_gets_the_signal);
        close(wanted[1]);
        pthread_join(sender, NULL);
        close(switches);
    } else {
        printf("  not tried: perf events are refused here (%s)\n", strerror(errno));
    }
    sonde_session_stop();
    sonde_guard_remove();
    drop_memory(&m);
    return 0;
}
