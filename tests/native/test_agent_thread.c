// Threads of the agent: a process whose own threads have ended ends as it would without them.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/agent_thread.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static _Atomic bool has_looked;

static void *look_often(void *unused)
{
    (void)unused;
    for (;;) {
        sonde_exit_if_last();
        has_looked = true;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

static void *look_seldom(void *unused) // until it is woken
{
    (void)unused;
    for (;;) {
        sonde_exit_if_last();
        pause();
    }
    return NULL;
}

static void wake(void) {}

static void begin(void *(*body)(void *))
{
    pthread_t thread;
    CHECK(sonde_start_agent_thread(&thread, NULL, body, "ours", wake) == 0);
}

static void exit_with_7(void)
{
    sigset_t blocked;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0);
    CHECK(!sigismember(&blocked, SIGTERM));
    _exit(7); // exit() was called, and the program's signals are open
}

static void main_thread_ends(void)
{
    atexit(exit_with_7);
    begin(look_often);
    begin(look_often);
    pthread_exit(NULL);
}

static void *outlives(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 250000000}, NULL); // several looks
    _exit(9);
}

static void another_goes_on(void)
{
    atexit(exit_with_7);
    begin(look_often);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, outlives, NULL) == 0);
    pthread_exit(NULL);
}

static void *sleeps_a_little(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    return NULL;
}

static void another_ends_last(void)
{
    atexit(exit_with_7);
    begin(look_often);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, sleeps_a_little, NULL) == 0);
    pthread_exit(NULL);
}

static void it_goes_on_itself(void)
{
    atexit(exit_with_7);
    begin(look_often);
    nanosleep(&(struct timespec){0, 250000000}, NULL);
    CHECK(has_looked);
    _exit(9);
}

// Ends the process at the next file that one of its threads opens.
static void forbid_opening(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void it_goes_on_and_opens_nothing(void)
{
    begin(look_often);
    while (!has_looked)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    forbid_opening();
    nanosleep(&(struct timespec){0, 350000000}, NULL); // several looks
    _exit(9);
}

// ---- woken at the end of a thread

static pthread_t seldom;
static void wake_seldom(void) { pthread_kill(seldom, SIGSEGV); } // one that is not blocked there
static void ignore(int sig) { (void)sig; }

static void the_last_one_wakes_ours(void)
{
    atexit(exit_with_7);
    signal(SIGSEGV, ignore);
    CHECK(sonde_start_agent_thread(&seldom, NULL, look_seldom, "ours", wake_seldom) == 0);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    sonde_agent_threads_watch_exit();
    pthread_exit(NULL);
}

static void a_forked_child_has_none_of_ours(void)
{
    begin(look_often);
    pid_t child = fork();
    if (!child) {
        sonde_agent_threads_forked();
        sonde_agent_threads_watch_exit();
        atexit(exit_with_7);
        begin(look_often);
        pthread_exit(NULL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void ends_with_the_programs_last_thread(void)
{
    CHECK_EQUAL(exit_code_of(main_thread_ends), 7);
    CHECK_EQUAL(exit_code_of(another_ends_last), 7);
    CHECK_EQUAL(exit_code_of(the_last_one_wakes_ours), 7);
    CHECK_EQUAL(exit_code_of(a_forked_child_has_none_of_ours), 7);
}

static void not_before(void)
{
    CHECK_EQUAL(exit_code_of(another_goes_on), 9);
    CHECK_EQUAL(exit_code_of(it_goes_on_itself), 9);
    CHECK_EQUAL(exit_code_of(it_goes_on_and_opens_nothing), 9);
}

int main(void)
{
    RUN(ends_with_the_programs_last_thread);
    RUN(not_before);
    return 0;
}
