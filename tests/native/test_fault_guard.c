// Guarded reads: their faults end the read; every other fault ends as it would without the guard.
#define _GNU_SOURCE
#include "check.h"
#include "core/signals/fault_guard.h"
#include "core/signals/signal_actions.h"

#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// ---- ways to fault

static volatile int sink;
static char *const nowhere = (char *)8;

static void *mapping(int protection)
{
    void *at = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void *beyond_the_end_of_a_file(void)
{
    int fd = memfd_create("short", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED && ftruncate(fd, 0) == 0);
    close(fd);
    return at;
}

// Not instrumented: the access itself is what is tested, not AddressSanitizer's look at it.
__attribute__((no_sanitize("address", "undefined"), noinline)) static void read_at(void *at)
{
    sink = *(volatile char *)at;
}

__attribute__((no_sanitize("address", "undefined"), noinline)) static void write_at(void *at)
{
    *(volatile char *)at = 1;
}

static void do_nothing(void *arg) { (void)arg; }

static void set(int sig, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    CHECK(sonde_sigaction(sig, &action, NULL) == 0);
}

static void set_info(int sig, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    CHECK(sonde_sigaction(sig, &action, NULL) == 0);
}

static void *handler_of(int sig)
{
    struct sigaction now;
    CHECK(sonde_sigaction(sig, NULL, &now) == 0);
    return (void *)now.sa_sigaction;
}

// ---- inside a body

static void ends_bodies_that_fault(void)
{
    sonde_guard_install();
    CHECK(sonde_guard_run(do_nothing, NULL));
    void *at = mapping(PROT_READ), *none = mapping(PROT_NONE), *file = beyond_the_end_of_a_file();
    for (int i = 0; i < 1000; i++) {
        CHECK(!sonde_guard_run(read_at, nowhere));
        CHECK(!sonde_guard_run(read_at, none));
        CHECK(!sonde_guard_run(write_at, at));
        CHECK(!sonde_guard_run(read_at, (void *)0x8000000000000000u)); // not canonical: SI_KERNEL
        CHECK(!sonde_guard_run(read_at, file));                        // SIGBUS
        CHECK(sonde_guard_run(read_at, at));
    }
    sigset_t mask;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    CHECK(!sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS));
    sonde_guard_remove();
}

static void *fault_often(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        CHECK(!sonde_guard_run(read_at, nowhere));
        CHECK(sonde_guard_run(read_at, arg));
    }
    return NULL;
}

static void guards_each_thread_for_itself(void)
{
    sonde_guard_install();
    void *at = mapping(PROT_READ);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, fault_often, at) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    sonde_guard_remove();
}

// ---- outside: deaths

static void fault(void) { read_at(nowhere); }
static void fault_by_a_file(void) { read_at(beyond_the_end_of_a_file()); }
static void send_segv(void) { raise(SIGSEGV); }
static void send_bus(void) { kill(getpid(), SIGBUS); }

static void (*then)(void);
static void (*was)(int); // handler before the guard

static void guarded_then(void)
{
    set(SIGSEGV, was);
    set(SIGBUS, was);
    sonde_guard_install();
    CHECK(!sonde_guard_run(read_at, nowhere));
    then();
}

static int ends_by(void (*before)(int), void (*happens)(void))
{
    was = before;
    then = happens;
    return signal_that_ends(guarded_then);
}

static void lets_the_rest_die(void)
{
    CHECK_EQUAL(ends_by(SIG_DFL, fault), SIGSEGV);
    CHECK_EQUAL(ends_by(SIG_DFL, fault_by_a_file), SIGBUS);
    CHECK_EQUAL(ends_by(SIG_DFL, send_segv), SIGSEGV);
    CHECK_EQUAL(ends_by(SIG_DFL, send_bus), SIGBUS);
    // Ignoring helps against what is sent, not against a fault: the kernel kills for that.
    CHECK_EQUAL(ends_by(SIG_IGN, send_segv), 0);
    CHECK_EQUAL(ends_by(SIG_IGN, send_bus), 0);
    CHECK_EQUAL(ends_by(SIG_IGN, fault), SIGSEGV);
    CHECK_EQUAL(ends_by(SIG_IGN, fault_by_a_file), SIGBUS);
}

static void raise_in_body(void *arg)
{
    (void)arg;
    raise(SIGSEGV);
}

static void sent_into_a_body(void)
{
    set(SIGSEGV, SIG_DFL);
    sonde_guard_install();
    sonde_guard_run(raise_in_body, NULL);
}

static void sent_signals_are_never_ours(void)
{
    CHECK_EQUAL(signal_that_ends(sent_into_a_body), SIGSEGV);
}

// ---- outside: handlers of the target

static volatile sig_atomic_t handled;
static volatile void *handled_address;
static sigjmp_buf way_out;

static void jumps_out(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    handled++;
    handled_address = info->si_addr;
    siglongjmp(way_out, 1);
}

static void counts(int sig)
{
    (void)sig;
    handled++;
}

static void passes_faults_to_the_handler_before(void)
{
    set_info(SIGSEGV, jumps_out);
    set(SIGBUS, counts);
    void *theirs = handler_of(SIGSEGV);
    sonde_guard_install();
    CHECK(handler_of(SIGSEGV) != theirs);
    handled = 0;
    for (int i = 1; i <= 10; i++) {
        CHECK(!sonde_guard_run(read_at, nowhere));
        if (!sigsetjmp(way_out, 1))
            read_at(nowhere + i);
        CHECK_EQUAL(handled, i);
        CHECK(handled_address == nowhere + i);
        // Their handler was not to be interrupted by the same signal, and its jump undid that.
        sigset_t mask;
        CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
        CHECK(!sigismember(&mask, SIGSEGV));
    }
    raise(SIGBUS);
    CHECK_EQUAL(handled, 11);
    sonde_guard_remove();
    CHECK(handler_of(SIGSEGV) == theirs);
    CHECK(handler_of(SIGBUS) == (void *)counts);
    set(SIGSEGV, SIG_DFL);
    set(SIGBUS, SIG_DFL);
}

static sigset_t mask_in_handler;

static void looks_at_the_mask(int sig)
{
    (void)sig;
    sigprocmask(SIG_BLOCK, NULL, &mask_in_handler);
}

static void keeps_what_the_handler_asked_for(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = looks_at_the_mask;
    sigaddset(&action.sa_mask, SIGUSR1);
    CHECK(sonde_sigaction(SIGSEGV, &action, NULL) == 0);
    sonde_guard_install();
    raise(SIGSEGV);
    CHECK(sigismember(&mask_in_handler, SIGSEGV) && sigismember(&mask_in_handler, SIGUSR1));
    sigset_t mask;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    CHECK(!sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGUSR1));
    sonde_guard_remove();
    set(SIGSEGV, SIG_DFL);
}

static void once_then_again(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = counts;
    action.sa_flags = SA_RESETHAND;
    CHECK(sonde_sigaction(SIGSEGV, &action, NULL) == 0);
    sonde_guard_install();
    handled = 0;
    raise(SIGSEGV);
    CHECK_EQUAL(handled, 1);
    raise(SIGSEGV);
}

static void handlers_for_once_are_used_once(void)
{
    CHECK_EQUAL(signal_that_ends(once_then_again), SIGSEGV);
}

// ---- a handler set while the guard is in place, as by a program that records itself

static struct sigaction found_by_late;

// As faulthandler does it: say something, put back what was found, let it happen again.
static void late_and_raising(int sig, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    handled++;
    sonde_sigaction(sig, &found_by_late, NULL);
    raise(sig);
}

static void late_and_returning(int sig, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    handled++;
    sonde_sigaction(sig, &found_by_late, NULL);
}

static void late_and_calling(int sig, siginfo_t *info, void *context)
{
    handled++;
    found_by_late.sa_sigaction(sig, info, context);
}

static void set_late(void (*handler)(int, siginfo_t *, void *))
{
    CHECK(sonde_sigaction(SIGSEGV, NULL, &found_by_late) == 0);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    CHECK(sonde_sigaction(SIGSEGV, &action, NULL) == 0);
}

static void (*late)(int, siginfo_t *, void *);

static void set_late_then(void)
{
    set(SIGSEGV, was);
    sonde_guard_install();
    handled = 0;
    set_late(late);
    // Its own business, not theirs.
    for (int i = 0; i < 3; i++)
        CHECK(!sonde_guard_run(read_at, nowhere));
    CHECK_EQUAL(handled, 0);
    then();
    if (handled == 0)
        _exit(99);
}

static void jumped_to(int sig)
{
    (void)sig;
    _exit(handled ? 42 : 43);
}

static void goes_above_a_later_handler(void)
{
    void (*lates[3])(int, siginfo_t *, void *) = {
        late_and_raising,
        late_and_returning,
        late_and_calling,
    };
    for (int i = 0; i < 3; i++) {
        late = lates[i];
        was = SIG_DFL;
        then = fault;
        CHECK_EQUAL(signal_that_ends(set_late_then), SIGSEGV);
        // What was there before us hears of it too, and after theirs.
        was = jumped_to;
        CHECK_EQUAL(exit_code_of(set_late_then), 42);
    }
}

static void start_and_stop_around_a_later_handler(void)
{
    set(SIGSEGV, SIG_DFL);
    sonde_guard_install();
    set_late(late_and_raising);
    sonde_guard_remove();
    CHECK(handler_of(SIGSEGV) == (void *)late_and_raising);
    for (int i = 0; i < 100; i++) {
        sonde_guard_install();
        CHECK(!sonde_guard_run(read_at, nowhere));
        sonde_guard_remove();
        CHECK(handler_of(SIGSEGV) == (void *)late_and_raising);
    }
    fault();
}

static void leaves_a_later_handler_in_place(void)
{
    CHECK_EQUAL(signal_that_ends(start_and_stop_around_a_later_handler), SIGSEGV);
}

// ---- a handler set through the preload library, which reports it to us

static void answers_the_target_what_it_believes(void)
{
    set(SIGSEGV, SIG_DFL);
    set(SIGBUS, SIG_IGN);
    struct sigaction mine = {.sa_handler = counts}, got;
    CHECK(!sonde_guard_user_action(SIGSEGV, &mine, &got)); // nobody in the way
    sonde_guard_install();
    void *ours = handler_of(SIGSEGV);
    CHECK(!sonde_guard_user_action(SIGUSR1, &mine, &got));
    CHECK(sonde_guard_user_action(SIGBUS, NULL, &got) && got.sa_handler == SIG_IGN);
    CHECK(sonde_guard_user_action(SIGSEGV, &mine, &got) && got.sa_handler == SIG_DFL);
    CHECK(sonde_guard_user_action(SIGSEGV, &mine, &mine) && mine.sa_handler == counts);
    CHECK(handler_of(SIGSEGV) == ours);
    handled = 0;
    raise(SIGSEGV);
    CHECK_EQUAL(handled, 1);
    CHECK(!sonde_guard_run(read_at, nowhere));
    CHECK_EQUAL(handled, 1);
    sonde_guard_remove();
    CHECK(handler_of(SIGSEGV) == (void *)counts); // theirs stays when we go
    set(SIGSEGV, SIG_DFL);
    set(SIGBUS, SIG_DFL);
}

static void fault_inside(void *arg)
{
    CHECK(sonde_guard_run(do_nothing, NULL));
    CHECK(!sonde_guard_run(read_at, nowhere));
    read_at(arg); // what ran inside has not taken the guard away
}

static void one_inside_another(void)
{
    sonde_guard_install();
    CHECK(!sonde_guard_run(fault_inside, nowhere));
    sonde_guard_remove();
}

int main(void)
{
    // What sanitizers put there is not what these tests are about.
    set(SIGSEGV, SIG_DFL);
    set(SIGBUS, SIG_DFL);
    RUN(ends_bodies_that_fault);
    RUN(one_inside_another);
    RUN(guards_each_thread_for_itself);
    RUN(lets_the_rest_die);
    RUN(sent_signals_are_never_ours);
    RUN(passes_faults_to_the_handler_before);
    RUN(keeps_what_the_handler_asked_for);
    RUN(handlers_for_once_are_used_once);
    RUN(goes_above_a_later_handler);
    RUN(leaves_a_later_handler_in_place);
    RUN(answers_the_target_what_it_believes);
    return 0;
}
