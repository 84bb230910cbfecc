#include "core/session/name_records.h"

#include <string.h>

static bool write_named(sonde_ring *ring, uint16_t kind, uint64_t id, const char *owner,
                        const char *name, uint64_t since)
{
    size_t owner_len = owner ? strnlen(owner, SONDE_NAME_MAX) : 0;
    size_t name_len = strnlen(name, SONDE_NAME_MAX);
    size_t dot = owner_len ? 1 : 0;
    size_t size = sonde_round8(sizeof(sonde_rec_code) + owner_len + dot + name_len);
    sonde_rec_code *out = sonde_ring_reserve(ring, size);
    if (!out)
        return false;
    *out = (sonde_rec_code){.rec = {.size = (uint32_t)size, .kind = kind},
                            .id = id,
                            .name_len = (uint32_t)(owner_len + dot + name_len),
                            .file_len = (uint32_t)since,
                            .table_len = (uint32_t)(since >> 32)};
    char *text = (char *)(out + 1);
    memcpy(text, owner ? owner : "", owner_len);
    if (dot)
        text[owner_len] = '.';
    memcpy(text + owner_len + dot, name, name_len);
    sonde_ring_commit(ring, size);
    return true;
}

uint64_t sonde_describe_native(sonde_thread *thread, const void *key, const char *owner,
                               const char *name)
{
    bool fresh;
    uint64_t id = sonde_seen_add(sonde.seen, key, &fresh);
    if (id && fresh && !write_named(&thread->ring, SONDE_REC_NATIVE, id, owner, name, 0)) {
        sonde_seen_remove(sonde.seen, key);
        return 0;
    }
    return id;
}

bool sonde_write_thread(sonde_ring *ring, uint64_t object, const char *name, uint64_t since)
{
    return write_named(ring, SONDE_REC_THREAD, object, NULL, name, since);
}

bool sonde_write_type(sonde_ring *ring, uint64_t id, const char *name)
{
    return write_named(ring, SONDE_REC_TYPE, id, NULL, name, 0);
}

void sonde_write_mark(sonde_thread *thread, const char *name, uint64_t time, uint64_t duration_ns)
{
    size_t name_len = strnlen(name, SONDE_NAME_MAX);
    size_t size = sonde_round8(sizeof(sonde_rec_mark) + name_len);
    sonde_rec_mark *out = sonde_ring_reserve(&thread->ring, size);
    if (!out) {
        thread->slot->events_lost++;
        return;
    }
    *out = (sonde_rec_mark){.rec = {.size = (uint32_t)size, .kind = SONDE_REC_MARK},
                            .time = time,
                            .duration_ns = duration_ns,
                            .name_len = (uint32_t)name_len};
    memcpy(out + 1, name, name_len);
    sonde_ring_commit(&thread->ring, size);
}
