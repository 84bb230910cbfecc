#define _GNU_SOURCE
#include "inject/safe.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

// The kernel's own codes for "interrupted, to be restarted" (linux/errno.h); a tracer sees them.
enum { RESTARTSYS = 512, RESTARTNOINTR = 513, RESTARTNOHAND = 514, RESTART_RESTARTBLOCK = 516 };

// How much of the stack is searched for the loader.
#define SEARCHED (64u << 10)

static uint64_t whose(const sonde_stopped *stopped, uint64_t address)
{
    for (size_t i = 0; i < stopped->count; i++)
        if (address >= stopped->texts[i].low && address < stopped->texts[i].high)
            return stopped->texts[i].whose;
    return 0;
}

int sonde_call_rank(int64_t call, uint64_t second)
{
    switch (call) {
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_read:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pause:
        return 2;
    case SYS_futex:
        // Condition variables, semaphores and joins. A plain FUTEX_WAIT is one of libc's own locks,
        // maybe taken in the middle of malloc (checked on glibc 2.36 to 2.43).
        return (second & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET ? 2 : 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_rt_sigtimedwait:
        return 1;
    default:
        return 0;
    }
}

static bool was_interrupted(const sonde_stopped *stopped)
{
    if (stopped->call < 0)
        return false;
    switch (-stopped->result) {
    case EINTR:
    case RESTARTSYS:
    case RESTARTNOINTR:
    case RESTARTNOHAND:
    case RESTART_RESTARTBLOCK:
        return true;
    default:
        return false;
    }
}

// What a call leaves on the stack points behind a call instruction. The loader's addresses get
// there otherwise too: _dl_fini is an argument of every program's start.
static bool is_return_address(const sonde_stopped *stopped, uint64_t address)
{
    uint8_t before[7];
    if (!stopped->read(stopped->from, address - sizeof before, before, sizeof before))
        return true;
    if (before[2] == 0xe8)
        return true;
    // ff /2 with its operand: 2, 3, 4, 6 or 7 bytes long
    static const uint8_t starts[] = {5, 4, 3, 1, 0};
    for (size_t i = 0; i < sizeof starts; i++)
        if (before[starts[i]] == 0xff && (before[starts[i] + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

static bool is_below_loader(const sonde_stopped *stopped)
{
    uint64_t words[512];
    for (uint64_t done = 0; done < SEARCHED; done += sizeof words) {
        if (!stopped->read(stopped->from, stopped->sp + done, words, sizeof words)) {
            // The stack may end within this piece.
            for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                uint64_t at = stopped->sp + done + i * sizeof *words;
                if (!stopped->read(stopped->from, at, words, sizeof *words))
                    return false;
                if (whose(stopped, words[0]) == SONDE_TEXT_LOADER &&
                    is_return_address(stopped, words[0]))
                    return true;
            }
            return false;
        }
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (whose(stopped, words[i]) == SONDE_TEXT_LOADER &&
                is_return_address(stopped, words[i]))
                return true;
    }
    return false;
}

const char *sonde_unsafe(const sonde_stopped *stopped)
{
    if (was_interrupted(stopped)) {
        if (!sonde_call_rank(stopped->call, stopped->arguments[1]))
            return "it was in a system call that is not to be interrupted";
        // The loader reads files too.
        if (stopped->call == SYS_read && is_below_loader(stopped))
            return "it was loading a library";
        return NULL;
    }
    switch (whose(stopped, stopped->pc)) {
    case SONDE_TEXT_PYTHON:
        return NULL;
    case SONDE_TEXT_OTHER:
        return is_below_loader(stopped) ? "it was loading a library" : NULL;
    case SONDE_TEXT_LIBC:
        return "it was in the C library";
    case SONDE_TEXT_LOADER:
        return "it was in the dynamic loader";
    case SONDE_TEXT_ALLOCATOR:
        return "it was in a memory allocator";
    default:
        return "it was in code of no known library";
    }
}

bool sonde_waits_for_loader(const sonde_stopped *stopped)
{
    return stopped->call == SYS_futex && was_interrupted(stopped) &&
           (stopped->arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT &&
           whose(stopped, stopped->arguments[0]) == SONDE_DATA_LOADER;
}
