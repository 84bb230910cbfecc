// May a thread, as it was found when stopped, be made to call dlopen?
//
// dlopen takes the loader's lock and allocates. A thread stopped inside libc, the loader or an
// allocator may hold the very lock it would then wait for, or have one of their structures half
// changed. Measured without this rule: the target died within a few attempts.
#ifndef SONDE_SAFE_H
#define SONDE_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whose code lies in a range of addresses; src/sonde/record/targets/ptrace_inject.py mirrors these.
enum {
    SONDE_TEXT_PYTHON = 1,
    SONDE_TEXT_LIBC = 2,
    SONDE_TEXT_LOADER = 3,
    SONDE_TEXT_ALLOCATOR = 4,
    SONDE_TEXT_OTHER = 5,
    SONDE_DATA_LOADER = 6, // not code: the loader's variables, its locks among them
};

typedef struct {
    uint64_t low, high;
    uint64_t whose;
} sonde_text;

typedef struct { // a stopped thread
    uint64_t pc, sp;
    int64_t call;            // number of the system call it was interrupted in or has left; else -1
    int64_t result;          // what is in the register of results
    uint64_t arguments[2];   // its first two
    const sonde_text *texts; // what is executable in its process
    size_t count;
    bool (*read)(void *from, uint64_t at, void *to, size_t size);
    void *from;
} sonde_stopped;

// How well a thread that waits in this system call takes an interruption: 2 the kernel restarts the
// call, 1 the call ends with EINTR once, 0 not to be interrupted.
int sonde_call_rank(int64_t call, uint64_t second);

// NULL if it may; else why not.
const char *sonde_unsafe(const sonde_stopped *stopped);

// Does it wait for a lock of the loader's own, which it therefore does not hold?
bool sonde_waits_for_loader(const sonde_stopped *stopped);

#endif
