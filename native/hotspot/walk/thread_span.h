// The innermost span that the calling thread has entered, or the virtual one that it carries.
#ifndef SONDE_HOTSPOT_THREAD_SPAN_H
#define SONDE_HOTSPOT_THREAD_SPAN_H

#include "core/hooks/spans.h"
#include "core/session/session.h"

// What stands for the frame of a span (spans.h): `record` is the VM's of the calling thread, NULL
// if that is no Java thread. May be called in a signal handler.
const void *sonde_thread_place(const sonde_thread *me, const void *record);

// 0: none. May be called in a signal handler.
static inline uint32_t sonde_thread_span(const sonde_thread *me, const void *record)
{
    if (__builtin_expect(!atomic_load_explicit(&sonde_spans_open, memory_order_relaxed), 1))
        return 0;
    return sonde_span_in(sonde_thread_place(me, record), NULL);
}

#endif
