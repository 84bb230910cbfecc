// May a stopped thread be made to load a library? Threads made up for each answer.
#define _GNU_SOURCE
#include "check.h"
#include "inject/safe.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

enum { RESTARTSYS = 512, RESTART_RESTARTBLOCK = 516 };
enum { PYTHON = 0x10000, LIBC = 0x20000, LOADER = 0x30000, ALLOCATOR = 0x40000, OTHER = 0x50000 };
enum { LOADER_DATA = 0x60000, STACK = 0x70000, SIZE = 0x1000 };

static const sonde_text texts[] = {
    {PYTHON, PYTHON + SIZE, SONDE_TEXT_PYTHON},
    {LIBC, LIBC + SIZE, SONDE_TEXT_LIBC},
    {LOADER, LOADER + SIZE, SONDE_TEXT_LOADER},
    {ALLOCATOR, ALLOCATOR + SIZE, SONDE_TEXT_ALLOCATOR},
    {OTHER, OTHER + SIZE, SONDE_TEXT_OTHER},
    {LOADER_DATA, LOADER_DATA + SIZE, SONDE_DATA_LOADER},
};

static uint8_t code[SIZE];         // of the loader
static uint64_t stack[0x8000 / 8]; // shorter than what is searched

// The memory of the stopped thread; only the loader's code and the stack are mapped.
static bool read_made_up(void *from, uint64_t at, void *to, size_t size)
{
    (void)from;
    const uint8_t *begin = NULL;
    if (at >= LOADER && at + size <= LOADER + SIZE)
        begin = code + (at - LOADER);
    else if (at >= STACK && at + size <= STACK + sizeof stack)
        begin = (uint8_t *)stack + (at - STACK);
    if (!begin)
        return false;
    memcpy(to, begin, size);
    return true;
}

static sonde_stopped at(uint64_t pc)
{
    return (sonde_stopped){.pc = pc,
                           .sp = STACK,
                           .call = -1,
                           .texts = texts,
                           .count = sizeof texts / sizeof *texts,
                           .read = read_made_up};
}

static sonde_stopped in_call(int64_t call, uint64_t second, int64_t error)
{
    sonde_stopped stopped = at(LIBC + 8);
    stopped.call = call;
    stopped.arguments[1] = second;
    stopped.result = -error;
    return stopped;
}

static bool is_safe(sonde_stopped stopped) { return sonde_unsafe(&stopped) == NULL; }

static void code_decides(void)
{
    CHECK(is_safe(at(PYTHON)));
    CHECK(is_safe(at(PYTHON + SIZE - 1)));
    CHECK(!is_safe(at(PYTHON + SIZE)));
    CHECK(is_safe(at(OTHER)));
    CHECK(!is_safe(at(LIBC)));
    CHECK(!is_safe(at(LOADER)));
    CHECK(!is_safe(at(ALLOCATOR)));
    CHECK(!is_safe(at(LOADER_DATA)));
    CHECK(!is_safe(at(0)));
    CHECK(!is_safe(at(UINT64_MAX)));
}

static void a_call_that_waits_may_be_interrupted(void)
{
    static const int calls[] = {SYS_poll,    SYS_select,   SYS_recvfrom,        SYS_accept4,
                                SYS_wait4,   SYS_read,     SYS_clock_nanosleep, SYS_epoll_wait,
                                SYS_recvmsg, SYS_waitid,   SYS_ppoll,           SYS_rt_sigtimedwait,
                                SYS_pause,   SYS_nanosleep};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        CHECK(is_safe(in_call(calls[i], 0, RESTARTSYS)));
        CHECK(is_safe(in_call(calls[i], 0, RESTART_RESTARTBLOCK)));
        CHECK(is_safe(in_call(calls[i], 0, EINTR)));
        // It is over, and the C library goes on with what it returned.
        CHECK(!is_safe(in_call(calls[i], 0, 0)));
        CHECK(!is_safe(in_call(calls[i], 0, EAGAIN)));
    }
    CHECK(!is_safe(in_call(SYS_openat, 0, RESTARTSYS)));
    CHECK(!is_safe(in_call(SYS_write, 0, RESTARTSYS)));
    CHECK(!is_safe(in_call(SYS_mmap, 0, EINTR)));
}

static void a_lock_of_the_c_library_is_not_a_wait(void)
{
    CHECK(is_safe(in_call(SYS_futex, FUTEX_WAIT_BITSET, RESTARTSYS)));
    CHECK(is_safe(in_call(SYS_futex, FUTEX_WAIT_BITSET_PRIVATE, RESTARTSYS)));
    CHECK(is_safe(in_call(SYS_futex, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, EINTR)));
    CHECK(!is_safe(in_call(SYS_futex, FUTEX_WAIT, RESTARTSYS)));
    CHECK(!is_safe(in_call(SYS_futex, FUTEX_WAIT_PRIVATE, RESTARTSYS)));
    CHECK(!is_safe(in_call(SYS_futex, FUTEX_LOCK_PI_PRIVATE, RESTARTSYS)));
}

// The loader called what was interrupted: a library is being loaded.
static void nothing_below_the_loader(void)
{
    uint64_t back = LOADER + 0x100;
    for (size_t place = 0; place < sizeof stack / sizeof *stack; place += 511) {
        memset(stack, 0, sizeof stack);
        memset(code, 0x90, sizeof code);
        stack[place] = back;
        CHECK(is_safe(at(OTHER))); // an address of the loader, but no call is before it
        static const uint8_t calls[][7] = {
            {0x90, 0x90, 0xe8, 1, 2, 3, 4},             // call relative
            {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, // call *%rax
            {0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8},    // call *8(%rax)
            {0x90, 0xff, 0x15, 1, 2, 3, 4},             // call *(%rip)
            {0xff, 0x94, 0x24, 1, 2, 3, 4},             // call *(%rsp)
        };
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            memcpy(code + 0x100 - 7, calls[i], 7);
            CHECK(!is_safe(at(OTHER)));
            CHECK(!is_safe(in_call(SYS_read, 0, RESTARTSYS)));
            CHECK(is_safe(at(PYTHON))); // the interpreter's own code is not run from there
        }
        memset(code + 0x100 - 7, 0x90, 7);
        stack[place] = 0;
    }
    // Where no code can be read it may have been a call.
    memset(stack, 0, sizeof stack);
    stack[3] = LOADER + 2;
    CHECK(!is_safe(at(OTHER)));
    stack[3] = 0;
}

static void a_wait_for_the_loader_is_known(void)
{
    sonde_stopped stopped = in_call(SYS_futex, FUTEX_WAIT_PRIVATE, RESTARTSYS);
    stopped.arguments[0] = LOADER_DATA + 64;
    CHECK(sonde_waits_for_loader(&stopped));
    stopped.arguments[0] = STACK;
    CHECK(!sonde_waits_for_loader(&stopped)); // another lock: it may hold the loader's
    stopped.arguments[0] = LOADER_DATA;
    stopped.arguments[1] = FUTEX_WAKE_PRIVATE;
    CHECK(!sonde_waits_for_loader(&stopped));
    stopped.arguments[1] = FUTEX_WAIT_PRIVATE;
    stopped.result = 0;
    CHECK(!sonde_waits_for_loader(&stopped)); // it has it by now
}

static void the_best_to_interrupt_is_what_restarts(void)
{
    CHECK_EQUAL(sonde_call_rank(SYS_poll, 0), 2);
    CHECK_EQUAL(sonde_call_rank(SYS_futex, FUTEX_WAIT_BITSET_PRIVATE), 2);
    CHECK_EQUAL(sonde_call_rank(SYS_epoll_wait, 0), 1);
    CHECK_EQUAL(sonde_call_rank(SYS_futex, FUTEX_WAIT_PRIVATE), 0);
    CHECK_EQUAL(sonde_call_rank(SYS_openat, 0), 0);
    CHECK_EQUAL(sonde_call_rank(-1, 0), 0);
}

int main(void)
{
    RUN(code_decides);
    RUN(a_call_that_waits_may_be_interrupted);
    RUN(a_lock_of_the_c_library_is_not_a_wait);
    RUN(nothing_below_the_loader);
    RUN(a_wait_for_the_loader_is_known);
    RUN(the_best_to_interrupt_is_what_restarts);
    return 0;
}
