// The recorder's side of a session's memory: a mapping of its own, and a decoder of stack records
// written from the description in shm.h alone.
#ifndef SONDE_RECORDER_SIDE_H
#define SONDE_RECORDER_SIDE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // memfd_create
#endif
#include "check.h"
#include "core/session/session.h"

#include <string.h>
#include <sys/mman.h>

static inline sonde_config config_for(uint32_t nslots, uint32_t ring_size)
{
    return (sonde_config){
        .magic = SONDE_MAGIC,
        .protocol = SONDE_PROTOCOL,
        .size = SONDE_HEADER_SIZE + (uint64_t)nslots * (SONDE_SLOT_SIZE + ring_size),
        .period_ns = 1000000,
        .nslots = nslots,
        .ring_size = ring_size,
        .what = SONDE_WHAT_CPU,
    };
}

typedef struct {
    sonde_config config;
    int memfd;
    uint8_t *at;
    sonde_header *header;
    sonde_slot *slots;
} memory;

static inline memory make_memory(sonde_config config)
{
    memory m = {.config = config, .memfd = memfd_create("sonde-test", MFD_CLOEXEC)};
    CHECK(m.memfd >= 0 && ftruncate(m.memfd, (off_t)config.size) == 0);
    m.at = mmap(NULL, config.size, PROT_READ | PROT_WRITE, MAP_SHARED, m.memfd, 0);
    CHECK(m.at != MAP_FAILED);
    m.header = (sonde_header *)m.at;
    m.slots = (sonde_slot *)(m.at + SONDE_HEADER_SIZE);
    return m;
}

static inline void drop_memory(memory *m)
{
    munmap(m->at, m->config.size);
    close(m->memfd);
}

static inline const uint8_t *ring_of(const memory *m, uint32_t slot)
{
    return m->at + SONDE_HEADER_SIZE + (size_t)m->config.nslots * SONDE_SLOT_SIZE +
           (size_t)slot * m->config.ring_size;
}

static inline memory begin_session(uint32_t nslots, uint32_t ring_size)
{
    memory m = make_memory(config_for(nslots, ring_size));
    CHECK_EQUAL(sonde_session_start(&m.config, m.memfd), 0);
    return m;
}

typedef struct {
    uint64_t frames[SONDE_MAX_DEPTH]; // of the last record, outermost first
    uint32_t depth;
    uint64_t reference[SONDE_MAX_DEPTH]; // what records may refer to
    uint32_t known;
} decoded;

// Takes the slot's next stack into `stack`; NULL if there is no record.
static inline const sonde_rec_sample *take(const memory *m, uint32_t index, decoded *stack)
{
    sonde_slot *slot = &m->slots[index];
    for (;;) {
        uint64_t tail = atomic_load(&slot->tail), head = atomic_load(&slot->head);
        if (tail == head)
            return NULL;
        const uint8_t *at = ring_of(m, index) + (tail & (m->config.ring_size - 1));
        const sonde_rec *rec = (const sonde_rec *)at;
        CHECK(rec->size >= 8 && rec->size % 8 == 0 && rec->size <= head - tail);
        if (rec->kind == SONDE_REC_PAD) {
            atomic_store(&slot->tail, tail + rec->size);
            continue;
        }
        CHECK(rec->kind == SONDE_REC_SAMPLE || rec->kind == SONDE_REC_OPEN_WAIT);
        const sonde_rec_sample *sample = (const sonde_rec_sample *)at;
        CHECK_EQUAL(rec->size, sizeof *sample + sample->count * sizeof(uint64_t));
        CHECK(sample->keep <= stack->known && sample->keep + sample->count <= SONDE_MAX_DEPTH);
        stack->depth = sample->keep;
        memcpy(stack->frames, stack->reference, stack->depth * sizeof *stack->frames);
        for (uint32_t i = sample->count; i-- > 0;)
            stack->frames[stack->depth++] = sample->frames[i];
        if (!(rec->flags & SONDE_DETACHED) && (sample->count || !sample->keep)) {
            stack->known = stack->depth;
            memcpy(stack->reference, stack->frames, stack->depth * sizeof *stack->reference);
        }
        return sample;
    }
}

static inline void done(const memory *m, uint32_t index, const sonde_rec_sample *sample)
{
    sonde_slot *slot = &m->slots[index];
    atomic_store(&slot->tail, atomic_load(&slot->tail) + sample->rec.size);
}

static inline uint32_t index_of(const sonde_thread *thread)
{
    return (uint32_t)(thread->slot - sonde.slots);
}

#endif
