// Timers on CPU clocks: every thread samples itself, no system call notices, nothing is left.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/sampling/cpu_timers.h"
#include "core/sampling/sigtrap.h"
#include "core/signals/fault_guard.h"
#include "recorder_side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t walk(sonde_thread *thread, const ucontext_t *context, sonde_event *event)
{
    (void)context;
    (void)event;
    sonde_stack(thread)[0] = 7;
    errno = EDOM; // must not be seen outside
    return 1;
}

static memory m;

static void begin(void)
{
    m = begin_session(16, 1u << 16);
    sonde.exact_cpu = true;
    sonde_guard_install();
    sonde_trap_install(walk, NULL);
    CHECK_EQUAL(sonde_cpu_timers_start(), 0);
    CHECK_EQUAL(atomic_load(&m.header->reader_mode), SONDE_SAMPLER_CPU_TIMER);
}

static void end(void)
{
    sonde_cpu_timers_stop();
    sonde_session_stop();
    sonde_guard_remove();
    drop_memory(&m);
}

static void spin(uint64_t ns)
{
    for (uint64_t start = sonde_thread_cpu(); sonde_thread_cpu() - start < ns;)
        ;
}

static uint64_t taken_by(uint32_t tid)
{
    for (uint32_t i = 0; i < m.config.nslots; i++)
        if (atomic_load(&m.slots[i].tid) == tid)
            return m.slots[i].taken;
    return 0;
}

static uint32_t my_tid(void) { return (uint32_t)syscall(SYS_gettid); }

// Of this process, or -1 where the kernel does not list them (CONFIG_POSIX_TIMERS, 3.10).
static int timers(void)
{
    char text[16384];
    int fd = open("/proc/self/timers", O_RDONLY), count = 0;
    if (fd < 0)
        return -1;
    size_t size = 0;
    for (ssize_t n;
         size < sizeof text - 1 && (n = read(fd, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    close(fd);
    text[size] = 0;
    for (const char *at = text; (at = strstr(at, "signal:")); at++)
        count++;
    return count;
}

static void samples_whoever_runs(void)
{
    begin();
    errno = EXDEV;
    // Of other load there is any amount: until it has been seen.
    while (taken_by(my_tid()) < 5)
        spin(1000000);
    CHECK_EQUAL(errno, EXDEV);
    decoded out = {.depth = 0};
    for (uint32_t i = 0; i < m.config.nslots; i++) {
        if (atomic_load(&m.slots[i].tid) != my_tid())
            continue;
        const sonde_rec_sample *sample;
        uint64_t cpu = 0;
        for (int n = 0; n < 5; n++) {
            CHECK((sample = take(&m, i, &out)));
            CHECK(sample->rec.state == SONDE_RUNNING && sample->cpu > cpu && out.depth == 1);
            cpu = sample->cpu;
            done(&m, i, sample);
        }
    }
    end();
}

static _Atomic uint32_t threads_seen;

static void *runs(void *adds)
{
    if (adds)
        sonde_cpu_timers_add_self();
    while (!taken_by(my_tid()))
        spin(1000000);
    atomic_fetch_add(&threads_seen, 1);
    return NULL;
}

// Some report that they have started, others are found.
static void samples_threads_that_start_later(void)
{
    begin();
    pthread_t threads[6];
    atomic_store(&threads_seen, 0);
    for (int i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, runs, i % 2 ? threads : NULL) == 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQUAL(atomic_load(&threads_seen), 6);
    int left;
    while ((left = timers()) > 1) // only the main thread's; ours have none
        usleep(10000);
    CHECK(left == 1 || left == -1);
    end();
    CHECK(timers() <= 0);
}

static void interrupts_no_system_call(void)
{
    begin();
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    for (int i = 0; i < 50 || taken_by(my_tid()) < 5; i++) {
        spin(1500000);
        struct pollfd never = {.fd = pipes[0], .events = POLLIN};
        CHECK_EQUAL(poll(&never, 1, 1), 0);
        struct timespec pause = {0, 100000};
        CHECK_EQUAL(nanosleep(&pause, NULL), 0);
    }
    close(pipes[0]);
    close(pipes[1]);
    end();
}

static void obeys_orders(void)
{
    begin();
    while (!taken_by(my_tid()))
        spin(1000000);
    atomic_store(&m.header->what, 0); // a pause
    usleep(200000);
    uint64_t before = taken_by(my_tid());
    spin(30000000);
    CHECK_EQUAL(taken_by(my_tid()), before);
    atomic_store(&m.header->what, SONDE_WHAT_CPU);
    while (taken_by(my_tid()) == before)
        spin(1000000);
    end();
}

static void works_again(void)
{
    for (int i = 0; i < 3; i++) {
        begin();
        while (!taken_by(my_tid()))
            spin(1000000);
        end();
    }
    sonde_cpu_timers_stop(); // nothing to stop
    sonde_cpu_timers_add_self();
    CHECK(timers() <= 0);
}

// The target's own timers with this signal are its own business.
static volatile sig_atomic_t own;
static void on_own(int sig)
{
    (void)sig;
    own = 1;
}

static void leaves_the_programs_timers_alone(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_own;
    begin();
    CHECK(sonde_trap_user_action(&action, NULL));
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGTRAP;
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
    while (!own)
        usleep(1000);
    timer_delete(timer);
    memset(&action, 0, sizeof action);
    sonde_trap_user_action(&action, NULL);
    end();
}

int main(void)
{
    RUN(samples_whoever_runs);
    RUN(samples_threads_that_start_later);
    RUN(interrupts_no_system_call);
    RUN(obeys_orders);
    RUN(works_again);
    RUN(leaves_the_programs_timers_alone);
    return 0;
}
