// What the unit tests share: a check that ends the program, reproducible numbers, deaths of
// children.
#ifndef SONDE_CHECK_H
#define SONDE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #condition);  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define CHECK_EQUAL(got, wanted)                                                                   \
    do {                                                                                           \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);                          \
        if (got_ != wanted_) {                                                                     \
            fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, __func__,     \
                    #got, got_, wanted_);                                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define RUN(test)                                                                                  \
    do {                                                                                           \
        printf("%s\n", #test);                                                                     \
        fflush(stdout);                                                                            \
        test();                                                                                    \
    } while (0)

// xorshift64*: every run draws the same.
static inline uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

// How a forked child that runs body() ends, by waitpid. A hang is an end by SIGALRM.
static inline int status_of(void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        body();
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static inline int signal_that_ends(void (*body)(void))
{
    int status = status_of(body);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static inline int exit_code_of(void (*body)(void))
{
    int status = status_of(body);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
