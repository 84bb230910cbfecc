#define _GNU_SOURCE
#include "core/signals/syscall_restart.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__)
#error "state how this processor enters the kernel, and where the kernel puts signal frames"
#endif

#define SYSCALL_SIZE 2 // 0f 05

// ---- which calls

#ifndef F_OFD_SETLKW
#define F_OFD_SETLKW 38
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

// Calls for which SA_RESTART decides (ERESTARTSYS in the kernel, signal(7)). Others are wound back
// for every handler (clone, futexes with priority inheritance), and must not return EINTR.
static bool heeds_sa_restart(const greg_t *registers)
{
    switch (registers[REG_RAX]) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
    case SYS_open:
    case SYS_creat:
    case SYS_openat:
    case SYS_openat2:
    case SYS_ioctl:
    case SYS_flock:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_getrandom:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_futex_waitv:
        return true;
    case SYS_fcntl:
        return registers[REG_RSI] == F_SETLKW || registers[REG_RSI] == F_OFD_SETLKW;
    case SYS_futex: {
        int operation = (int)registers[REG_RSI] & FUTEX_CMD_MASK;
        return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    }
    default:
        return false;
    }
}

// Processors with FRED leave the registers of a system call alone; all others put the address after
// the instruction into rcx. That distinguishes a call that was wound back from one that is yet to
// be made.
static bool leaves_address;

void sonde_restart_prepare(void)
{
    long number = SYS_getpid;
    unsigned long address = 0;
    __asm__ volatile("syscall" : "+a"(number), "+c"(address) : : "r11", "memory");
    leaves_address = address != 0;
}

static bool may_be_restarted(const ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    return heeds_sa_restart(registers) &&
           (!leaves_address || registers[REG_RCX] == registers[REG_RIP] + SYSCALL_SIZE);
}

static void interrupt(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_RAX] = -EINTR;
    context->uc_mcontext.gregs[REG_RIP] += SYSCALL_SIZE;
}

// ---- which handler ran on top of ours

// What the kernel puts on the stack (arch/x86/include/asm/sigframe.h, uapi/asm/sigcontext.h). It is
// the kernel's ucontext, whose mask is shorter than the C library's.
typedef struct {
    uint64_t return_to;
    uint64_t flags, link, stack[3];
    uint64_t registers[NGREG], fpstate, reserved[8];
    uint64_t mask;
    siginfo_t info;
} signal_frame;
_Static_assert(sizeof(signal_frame) == 440, "as the kernel has it");

#define RED_ZONE 128
#define FP_LEGACY_SIZE 512 // without xsave
#define FP_SW_AT 464       // struct _fpx_sw_bytes: a magic number, the size of all
#define FP_SW_MAGIC 0x46505853u

// The size of the floating-point state in this thread's signal frames: it may have asked for more.
SONDE_FOREIGN static uint64_t size_of_fpstate(const ucontext_t *context)
{
    const char *state = (const char *)context->uc_mcontext.fpregs;
    uint32_t about[2];
    if (!state)
        return 0;
    memcpy(about, state + FP_SW_AT, sizeof about);
    return about[0] == FP_SW_MAGIC ? about[1] : FP_LEGACY_SIZE;
}

typedef struct {
    const ucontext_t *context;
    uintptr_t handler;
    bool wound_back, nested;
    uint64_t blocked; // while our first instruction was to come
} look_job;

// Where the kernel puts the frame of a signal that it delivers at our first instruction (6.18:
// get_sigframe, fpu__alloc_mathframe). The handler has returned, the frame still lies there.
SONDE_FOREIGN static void look(void *arg)
{
    look_job *job = arg;
    const uint8_t *pc = (const uint8_t *)job->context->uc_mcontext.gregs[REG_RIP];
    job->wound_back = pc[0] == 0x0f && pc[1] == 0x05;
    if (!job->wound_back || !job->handler)
        return;
    uint64_t ours = (uint64_t)(uintptr_t)job->context - sizeof(uint64_t);
    uint64_t fpstate = (ours - RED_ZONE - size_of_fpstate(job->context)) & ~(uint64_t)63;
    uint64_t at = ((fpstate - sizeof(signal_frame)) & ~(uint64_t)15) - 8;
    volatile signal_frame *frame = (volatile signal_frame *)(uintptr_t)at;
    job->nested = frame->registers[REG_RIP] == job->handler && frame->registers[REG_RSP] == ours;
    if (!job->nested)
        return;
    job->blocked = frame->mask;
    frame->registers[REG_RIP] = 0; // one frame proves one delivery
}

// ---- what the program's handlers ask for

#define BIT(signal) ((uint64_t)1 << ((signal) - 1))
#define LAST_SIGNAL 64
// Sent by the kernel for what a thread does itself; two of them are ours.
#define SYNCHRONOUS                                                                                \
    (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

typedef struct {
    uint64_t restart, interrupt;
} wishes;

// The C library's own signals, which restart calls; every program with threads has the second.
#define INTERNAL (BIT(32) | BIT(33))

static wishes wishes_of(uint64_t signals)
{
    wishes found = {0, 0};
    for (int i = 1; i <= LAST_SIGNAL; i++) {
        struct {
            uintptr_t handler;
            uint64_t flags;
            uintptr_t restorer;
            uint64_t mask;
        } action;
        if (!(signals & ~(SYNCHRONOUS | INTERNAL) & BIT(i)) ||
            syscall(SYS_rt_sigaction, i, NULL, &action, sizeof action.mask) != 0)
            continue;
        if (action.handler != (uintptr_t)SIG_DFL && action.handler != (uintptr_t)SIG_IGN)
            *(action.flags & SA_RESTART ? &found.restart : &found.interrupt) |= BIT(i);
    }
    return found;
}

uint64_t sonde_restart_mask(void)
{
    wishes all = wishes_of(UINT64_MAX);
    return all.interrupt ? all.restart : 0;
}

__attribute__((noinline)) static void check(ucontext_t *context, uintptr_t handler)
{
    look_job job = {context, handler, false, false, 0};
    if (!sonde_guard_run_unchecked(look, &job) || !job.nested)
        return;
    // A frame does not say whose it is.
    wishes of = wishes_of(~job.blocked);
    if (of.interrupt && !of.restart)
        interrupt(context);
}

SONDE_HOT void sonde_restart_check(ucontext_t *context, uintptr_t handler)
{
    if (may_be_restarted(context))
        check(context, handler);
}

void sonde_restart_as(ucontext_t *context, const struct sigaction *action)
{
    look_job job = {context, 0, false, false, 0};
    bool handles = action->sa_flags & SA_SIGINFO ||
                   (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
    if (handles && !(action->sa_flags & SA_RESTART) && may_be_restarted(context) &&
        sonde_guard_run_unchecked(look, &job) && job.wound_back)
        interrupt(context);
}

void sonde_restart_for(ucontext_t *context, uint64_t signals)
{
    uint64_t blocked;
    memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
    look_job job = {context, 0, false, false, 0};
    if (!may_be_restarted(context) || !sonde_guard_run_unchecked(look, &job) || !job.wound_back)
        return;
    if (wishes_of(signals & ~blocked).interrupt)
        interrupt(context);
}
