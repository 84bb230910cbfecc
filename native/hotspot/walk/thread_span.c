#include "hotspot/walk/thread_span.h"

#include "core/base/hot.h"
#include "hotspot/vm/thread_records.h"

SONDE_HOT const void *sonde_thread_place(const sonde_thread *me, const void *record)
{
    uint64_t carried = record ? sonde_record_virtual(record) : 0;
    return carried ? sonde_span_virtual(carried & ~SONDE_VIRTUAL)
                   : sonde_span_thread(atomic_load_explicit(&me->slot->tid, memory_order_relaxed));
}
