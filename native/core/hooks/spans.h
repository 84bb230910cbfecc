// Spans that are open, each known by the frame that entered it, or by the thread.
//
// A sample of Python lies in a span if that very frame is on its stack. A thread and a time would
// not do: in between, an event loop runs other tasks on the same thread. Where no such loop runs,
// in Java and in C, the thread that entered is known by a key in the place of a frame. Both are
// only compared, never looked into, so any thread may ask, in a handler too.
#ifndef SONDE_CORE_SPANS_H
#define SONDE_CORE_SPANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_SPANS_BITS 14

extern _Atomic uint32_t sonde_spans_open;

// A number that no other span of this process has; never 0.
uint32_t sonde_span_number(void);
// Remembers that span `id` was entered in `frame`, which runs `code`. False if there is no room.
bool sonde_span_open(const void *frame, const void *code, uint32_t id);
// Forgets span `id`; its number. If `frame` has entered others but not this one, the innermost of
// those is meant: one object is used by several. 0 if there is none.
uint32_t sonde_span_close(const void *frame, uint32_t id);
// Forgets span `id` and no other; 0 if it is not open. `frame`: where it is looked for first.
uint32_t sonde_span_close_exactly(const void *frame, uint32_t id);
// The innermost open span entered in `frame`; 0 if none.
uint32_t sonde_span_in(const void *frame, const void *code);
static inline uint32_t sonde_span_of(const void *frame, const void *code)
{
    if (__builtin_expect(!atomic_load_explicit(&sonde_spans_open, memory_order_relaxed), 1))
        return 0;
    return sonde_span_in(frame, code);
}

// In the place of a frame, which no frame lies at: a thread of the kernel, and one that only its
// runtime knows, by the number that it has there. They run no code to be compared.
static inline const void *sonde_span_thread(uint32_t tid)
{
    return (const void *)((uintptr_t)tid << 8 | 2);
}
static inline const void *sonde_span_virtual(uint64_t number)
{
    return (const void *)((uintptr_t)number << 8 | 4);
}

// All of them: the session is over, or this is a forked child.
void sonde_spans_forget(void);

#endif
