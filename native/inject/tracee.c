#define _GNU_SOURCE
#include "inject/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define STOP_NS 500000000u
// A call that waits for the loader's lock this long may wait for a thread that waits for this one.
#define LOADER_NS 1000000000u
#define EXTENDED_MAX (64u << 10) // XSTATE with AMX tiles is 11 KB
#define RED_ZONE 128u
#define TRAP_FLAG 0x100u
#define DIRECTION_FLAG 0x400u

uint64_t sonde_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool sonde_tracee_read(void *of, uint64_t at, void *to, size_t size)
{
    sonde_tracee *tracee = of;
    struct iovec here = {to, size}, there = {(void *)at, size};
    return process_vm_readv(tracee->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool sonde_tracee_write(sonde_tracee *tracee, uint64_t at, const void *from, size_t size)
{
    struct iovec here = {(void *)from, size}, there = {(void *)at, size};
    return process_vm_writev(tracee->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

// The thread's next stop; -ETIMEDOUT, or another negative errno once it has ended.
static int next_stop(sonde_tracee *tracee, uint64_t until)
{
    struct timespec pause = {0, 20000};
    for (;;) {
        int status = 0;
        pid_t got = waitpid(tracee->tid, &status, __WALL | WNOHANG);
        if (got == tracee->tid) {
            if (WIFSTOPPED(status))
                return status;
            tracee->gone = true;
            return -ESRCH;
        }
        if (got < 0 && errno != EINTR) {
            tracee->gone = true;
            return -errno;
        }
        if (sonde_monotonic() > until)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
}

static bool is_our_interrupt(int status) { return status >> 16 == PTRACE_EVENT_STOP; }

int sonde_tracee_stop(sonde_tracee *tracee)
{
    if (ptrace(PTRACE_SEIZE, tracee->tid, 0, 0))
        return errno;
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0))
        return errno;
    int status = next_stop(tracee, sonde_monotonic() + STOP_NS);
    if (status < 0)
        // One that will not stop stays seized until the calling thread of ours ends, which sets it
        // free.
        return status == -ETIMEDOUT ? EAGAIN : -status;
    tracee->stopped_at = sonde_monotonic();
    bool interrupted = is_our_interrupt(status) && WSTOPSIG(status) == SIGTRAP;
    if (interrupted && !ptrace(PTRACE_GETREGS, tracee->tid, 0, &tracee->registers))
        return 0;
    // A signal on its way, or the whole process is being stopped: not for us.
    int passed_on = is_our_interrupt(status) ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_DETACH, tracee->tid, 0, (long)passed_on);
    return EAGAIN;
}

static void describe(const sonde_tracee *tracee, const struct user_regs_struct *registers,
                     sonde_stopped *out)
{
    *out = (sonde_stopped){
        .pc = registers->rip,
        .sp = registers->rsp,
        .call = (int64_t)registers->orig_rax,
        .result = (int64_t)registers->rax,
        .arguments = {registers->rdi, registers->rsi},
        .texts = tracee->texts,
        .count = tracee->count,
        .read = sonde_tracee_read,
        .from = (void *)tracee,
    };
}

void sonde_tracee_describe(sonde_tracee *tracee, sonde_stopped *out)
{
    describe(tracee, &tracee->registers, out);
}

int sonde_tracee_save(sonde_tracee *tracee)
{
    if (!(tracee->extended = malloc(EXTENDED_MAX)))
        return ENOMEM;
    struct iovec extended = {tracee->extended, EXTENDED_MAX};
    if (ptrace(PTRACE_GETREGSET, tracee->tid, NT_X86_XSTATE, &extended) ||
        ptrace(PTRACE_GETSIGMASK, tracee->tid, sizeof tracee->mask, &tracee->mask))
        return errno;
    tracee->extended_size = extended.iov_len;
    // The end of a call is a fault at address 0. The kernel would reset a blocked fault's action.
    // SIGTRAP is blocked: where a session with waits has events on the thread already, as in a
    // child that was just forked, each of our stops is a context switch that raises another one,
    // and the thread would never run.
    uint64_t all = ~UINT64_C(0);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        all &= ~(UINT64_C(1) << (faults[i] - 1));
    if (ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof all, &all))
        return errno;
    tracee->saved = true;
    tracee->room = (tracee->registers.rsp - RED_ZONE - SONDE_ROOM) & ~UINT64_C(63);
    static const uint8_t nothing[SONDE_ROOM];
    // The main thread's stack ends where it was last used: what lies below has to be touched first.
    if (!sonde_tracee_write(tracee, tracee->room, nothing, sizeof nothing))
        return ENOMEM;
    return 0;
}

static void restore(sonde_tracee *tracee)
{
    struct iovec extended = {tracee->extended, tracee->extended_size};
    ptrace(PTRACE_SETREGSET, tracee->tid, NT_X86_XSTATE, &extended);
    ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof tracee->mask, &tracee->mask);
    ptrace(PTRACE_SETREGS, tracee->tid, 0, &tracee->registers);
}

void sonde_tracee_release(sonde_tracee *tracee)
{
    if (!tracee->gone) {
        if (tracee->saved)
            restore(tracee);
        ptrace(PTRACE_DETACH, tracee->tid, 0, 0);
    }
    free(tracee->extended);
    tracee->extended = NULL;
}

// A call that takes long: is it one that can be called off?
static bool stands_at_loader(sonde_tracee *tracee)
{
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0))
        return false;
    int status = next_stop(tracee, sonde_monotonic() + STOP_NS);
    if (status < 0)
        return false;
    struct user_regs_struct registers;
    sonde_stopped stopped;
    if (is_our_interrupt(status) && !ptrace(PTRACE_GETREGS, tracee->tid, 0, &registers)) {
        describe(tracee, &registers, &stopped);
        if (sonde_waits_for_loader(&stopped))
            return true;
    }
    int passed_on = is_our_interrupt(status) ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_CONT, tracee->tid, 0, (long)passed_on);
    return false;
}

int sonde_tracee_call(sonde_tracee *tracee, uint64_t function, const uint64_t arguments[3],
                      uint64_t *result)
{
    struct user_regs_struct registers = tracee->registers;
    registers.rsp = tracee->room - sizeof(uint64_t); // as after a call: 16 n + 8
    uint64_t nowhere = 0;
    if (!sonde_tracee_write(tracee, registers.rsp, &nowhere, sizeof nowhere))
        return ENOMEM;
    registers.rip = function;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.rax = 0;
    registers.orig_rax = ~UINT64_C(0); // nothing to restart here
    registers.eflags &= ~(uint64_t)(TRAP_FLAG | DIRECTION_FLAG);
    if (ptrace(PTRACE_SETREGS, tracee->tid, 0, &registers) ||
        ptrace(PTRACE_CONT, tracee->tid, 0, 0))
        return errno;
    for (;;) {
        int status = next_stop(tracee, sonde_monotonic() + LOADER_NS);
        if (status == -ETIMEDOUT) {
            // Releasing it in any other place would leave the loader's lock taken, for good: we
            // wait for a slow disk.
            if (stands_at_loader(tracee))
                return EDEADLK;
            if (tracee->gone)
                return ESRCH;
            continue;
        }
        if (status < 0)
            return ESRCH;
        int sig = WSTOPSIG(status);
        if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &registers))
            return ESRCH;
        if (sig == SIGSEGV && registers.rip == nowhere) {
            *result = registers.rax;
            return 0;
        }
        if (!is_our_interrupt(status) &&
            (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT)) {
            tracee->faulted = true;
            return EFAULT;
        }
        ptrace(PTRACE_CONT, tracee->tid, 0, (long)(is_our_interrupt(status) ? 0 : sig));
    }
}
