// A snapshot of the heap, asked for from outside over a socket, or by the program itself.
#ifndef SONDE_CPYTHON_HEAP_HEAP_REQUEST_H
#define SONDE_CPYTHON_HEAP_HEAP_REQUEST_H

#include <stdint.h>

#define HEAP_REQUEST_MAGIC 0x70616548u // "Heap"

// From who asks, with the descriptor of the file.
typedef struct {
    uint32_t magic, stuck_ms;
} heap_order;

// src/sonde/record/heap_walk.py has the same.
typedef struct {
    uint32_t magic;
    int32_t error;     // an errno
    uint64_t pause_ns; // how long the program was kept from running Python
    uint64_t gil_ns;   // how long we waited for that
    uint64_t walk_ns, objects, edges, left_out, interpreters_left_out;
    char type[128]; // of the object whose traversal hung or crashed
} heap_answer;

// Takes one in a thread of the agent's, for who listens at `path`. Called in any thread of the
// target at a moment of our choosing. `settle_ms`: it waits for that long before it opens anything.
// 0 or an errno.
int sonde_heap_request(const char *path, uint32_t settle_ms, void (*ended)(void));
// Takes one for the caller, who holds the GIL.
int sonde_heap_take(int fd, uint32_t stuck_ms, heap_answer *answer);
// Around a fork. The kernel copies descriptors before it copies memory: while it does nothing is
// opened or closed, or the child would not know what it has to close.
void sonde_heap_before_fork(void);
void sonde_heap_after_fork(void);
// In a forked child, which has no part in it, instead of the latter.
void sonde_heap_forked(void);

#endif
