// Injects a library into a running process: stops one of its threads where that is safe, has it
// load the library and call one function there, and releases it as it was.
#ifndef SONDE_INJECT_H
#define SONDE_INJECT_H

#include <stdint.h>

enum { // what came of it; src/sonde/record/targets/ptrace_inject.py mirrors these
    SONDE_INJECTED = 0,
    SONDE_NO_SAFE_MOMENT = 1, // words: what was in the way last
    SONDE_NOT_PERMITTED = 2,  // error: an errno of ptrace
    SONDE_TARGET_GONE = 3,
    SONDE_NOT_LOADED = 4, // words: dlerror's
    SONDE_NO_FUNCTION = 5,
    SONDE_CALL_FAULTED = 6,
    SONDE_WRONG_ORDER = 7,
    SONDE_NO_COPY = 8, // error: why its memory could not take the library
};

typedef struct {
    int32_t pid;
    uint32_t unused;
    uint64_t timeout_ms; // address of an _Atomic uint32_t; set to 0 meanwhile, no other try is made
    uint64_t texts;      // address of `count` sonde_text
    uint64_t count;
    uint64_t dlopen_at, dlsym_at, dlerror_at;
    uint64_t memfd_create_at, close_at; // set: the target does not see our files
    uint64_t function_at;               // set: the library is there already
    char library[1024];
    char runtime[1024]; // set: a library whose symbols ours may need, but a program may hide
    char function[64];
    char argument[256];
} sonde_order;

typedef struct {
    int32_t outcome, error;
    int32_t returned; // by the function
    uint32_t tries;
    uint32_t tid;
    uint32_t unused;
    uint64_t stopped_ns; // how long its thread was stopped, in all tries
    char words[256];
} sonde_answer;

#endif
