#include "heap/hprof.h"

#include <string.h>

enum tag {
    ROOT_JNI_GLOBAL = 0x01,
    ROOT_JNI_LOCAL = 0x02,
    ROOT_JAVA_FRAME = 0x03,
    ROOT_NATIVE_STACK = 0x04,
    ROOT_STICKY_CLASS = 0x05,
    ROOT_THREAD_BLOCK = 0x06,
    ROOT_MONITOR_USED = 0x07,
    ROOT_THREAD_OBJECT = 0x08,
    CLASS_DUMP = 0x20,
    INSTANCE_DUMP = 0x21,
    OBJECT_ARRAY_DUMP = 0x22,
    PRIMITIVE_ARRAY_DUMP = 0x23,
    ROOT_UNKNOWN = 0xff,
};

#define REFERENCE 2

// A place in a segment. Once `failed`, it reads zeros and goes nowhere.
struct reader {
    const uint8_t *file;
    uint64_t at, end;
    uint32_t id_size;
    bool failed;
};

static bool has(struct reader *reader, uint64_t bytes)
{
    if (reader->failed || reader->end - reader->at < bytes) {
        reader->failed = true;
        return false;
    }
    return true;
}

static uint64_t number(struct reader *reader, uint32_t bytes)
{
    if (!has(reader, bytes))
        return 0;
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value = value << 8 | reader->file[reader->at + i];
    reader->at += bytes;
    return value;
}

static void skip(struct reader *reader, uint64_t bytes)
{
    if (has(reader, bytes))
        reader->at += bytes;
}

static uint64_t identifier(const uint8_t *place, uint32_t id_size)
{
    if (id_size == 8) {
        uint64_t value;
        memcpy(&value, place, sizeof value);
        return __builtin_bswap64(value);
    }
    uint32_t value;
    memcpy(&value, place, sizeof value);
    return __builtin_bswap32(value);
}

// The size of a value of this type; 0: there is no such type.
static uint32_t value_size(uint64_t type, uint32_t id_size)
{
    switch (type) {
    case REFERENCE:
        return id_size;
    case 4: // boolean
    case 8: // byte
        return 1;
    case 5: // char
    case 9: // short
        return 2;
    case 6:  // float
    case 10: // int
        return 4;
    case 7:  // double
    case 11: // long
        return 8;
    default:
        return 0;
    }
}

static void skip_value(struct reader *reader)
{
    uint32_t size = value_size(number(reader, 1), reader->id_size);
    if (!size)
        reader->failed = true;
    skip(reader, size);
}

static void skip_class(struct reader *reader)
{
    // Serial number of the stack; superclass, loader, signers, protection domain, two reserved;
    // size.
    skip(reader, 4 + 6 * (uint64_t)reader->id_size + 4);
    for (uint64_t left = number(reader, 2); left && !reader->failed; left--) {
        skip(reader, 2);
        skip_value(reader);
    }
    for (uint64_t left = number(reader, 2); left && !reader->failed; left--) {
        skip(reader, reader->id_size);
        skip_value(reader);
    }
    for (uint64_t left = number(reader, 2); left && !reader->failed; left--) {
        skip(reader, reader->id_size);
        if (!value_size(number(reader, 1), reader->id_size))
            reader->failed = true;
    }
}

// One object or root. Which of the two it is, `found` says after it.
struct found {
    bool is_object;
    uint64_t id, class_id, where, length;
    uint8_t kind;
    uint32_t thread, frame;
};

static const char *next_record(struct reader *reader, struct found *found)
{
    uint32_t id_size = reader->id_size;
    uint64_t tag = number(reader, 1);
    *found = (struct found){.id = number(reader, id_size),
                            .kind = (uint8_t)tag,
                            .thread = UINT32_MAX,
                            .frame = UINT32_MAX};
    switch (tag) {
    case ROOT_UNKNOWN:
    case ROOT_STICKY_CLASS:
    case ROOT_MONITOR_USED:
        break;
    case ROOT_JNI_GLOBAL:
        skip(reader, id_size);
        break;
    case ROOT_JNI_LOCAL:
    case ROOT_JAVA_FRAME:
        found->thread = (uint32_t)number(reader, 4);
        found->frame = (uint32_t)number(reader, 4);
        break;
    case ROOT_NATIVE_STACK:
    case ROOT_THREAD_BLOCK:
        found->thread = (uint32_t)number(reader, 4);
        break;
    case ROOT_THREAD_OBJECT:
        found->thread = (uint32_t)number(reader, 4);
        skip(reader, 4);
        break;
    case CLASS_DUMP:
        found->is_object = true;
        found->kind = SONDE_HPROF_CLASS;
        found->where = reader->at;
        skip_class(reader);
        break;
    case INSTANCE_DUMP:
        found->is_object = true;
        found->kind = SONDE_HPROF_INSTANCE;
        skip(reader, 4);
        found->class_id = number(reader, id_size);
        found->length = number(reader, 4);
        found->where = reader->at;
        skip(reader, found->length);
        break;
    case OBJECT_ARRAY_DUMP:
        found->is_object = true;
        found->kind = SONDE_HPROF_OBJECTS;
        skip(reader, 4);
        found->length = number(reader, 4);
        found->class_id = number(reader, id_size);
        found->where = reader->at;
        skip(reader, found->length * id_size);
        break;
    case PRIMITIVE_ARRAY_DUMP:
        found->is_object = true;
        found->kind = SONDE_HPROF_VALUES;
        skip(reader, 4);
        found->length = number(reader, 4);
        found->class_id = number(reader, 1);
        found->where = reader->at;
        if (found->class_id == REFERENCE || !value_size(found->class_id, id_size))
            return "an array of a type that there is not";
        skip(reader, found->length * value_size(found->class_id, id_size));
        break;
    default:
        return "a kind of record that there is not";
    }
    return reader->failed ? "a record that goes beyond its end" : NULL;
}

void sonde_hprof_count(const uint8_t *file, const struct sonde_hprof_segment *segments,
                       uint64_t segment_count, uint32_t id_size, struct sonde_hprof_counts *counts)
{
    *counts = (struct sonde_hprof_counts){0};
    for (uint64_t s = 0; s < segment_count; s++) {
        struct reader reader = {file, segments[s].begin, segments[s].end, id_size, false};
        while (reader.at < reader.end) {
            struct found found;
            uint64_t at = reader.at;
            const char *error = next_record(&reader, &found);
            if (error) {
                counts->error = error;
                counts->error_at = at;
                return;
            }
            counts->objects += found.is_object;
            counts->roots += !found.is_object;
            if (found.is_object && found.kind == SONDE_HPROF_OBJECTS)
                counts->elements += found.length;
        }
    }
}

void sonde_hprof_read(const uint8_t *file, const struct sonde_hprof_segment *segments,
                      uint64_t segment_count, uint32_t id_size,
                      const struct sonde_hprof_objects *objects,
                      const struct sonde_hprof_roots *roots)
{
    uint64_t object = 0, root = 0;
    for (uint64_t s = 0; s < segment_count; s++) {
        struct reader reader = {file, segments[s].begin, segments[s].end, id_size, false};
        struct found found;
        while (reader.at < reader.end && !next_record(&reader, &found)) {
            if (found.is_object) {
                objects->id[object] = found.id;
                objects->class_id[object] = found.class_id;
                objects->where[object] = found.where;
                objects->length[object] = (uint32_t)found.length;
                objects->kind[object++] = found.kind;
            } else {
                roots->id[root] = found.id;
                roots->kind[root] = found.kind;
                roots->thread[root] = found.thread;
                roots->frame[root++] = found.frame;
            }
        }
    }
}

uint32_t sonde_hprof_find(const struct sonde_hprof_ids *ids, uint64_t id)
{
    uint64_t bucket = (id - ids->base) >> ids->shift;
    if (id < ids->base || bucket >= ids->buckets)
        return UINT32_MAX;
    uint64_t low = ids->index[bucket], high = ids->index[bucket + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ids->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids->count && ids->id[low] == id ? (uint32_t)low : UINT32_MAX;
}

uint64_t sonde_hprof_references(const uint8_t *file, uint32_t id_size,
                                const struct sonde_hprof_ids *ids, const uint64_t *where,
                                const uint32_t *length, const uint8_t *kind,
                                const uint32_t *class_of, const struct sonde_hprof_fields *fields,
                                uint32_t element_label, uint64_t *first, uint32_t *to,
                                uint32_t *label)
{
    uint64_t edges = 0;
    for (uint64_t o = 0; o < ids->count; o++) {
        first[o] = edges;
        const uint8_t *at = file + where[o];
        if (kind[o] == SONDE_HPROF_INSTANCE) {
            for (uint32_t f = fields->first[class_of[o]]; f < fields->first[class_of[o] + 1]; f++) {
                if ((uint64_t)fields->offset[f] + id_size > length[o])
                    continue;
                uint32_t target =
                    sonde_hprof_find(ids, identifier(at + fields->offset[f], id_size));
                if (target != UINT32_MAX) {
                    to[edges] = target;
                    label[edges++] = fields->label[f];
                }
            }
        } else if (kind[o] == SONDE_HPROF_OBJECTS) {
            for (uint64_t i = 0; i < length[o]; i++) {
                uint32_t target = sonde_hprof_find(ids, identifier(at + i * id_size, id_size));
                if (target != UINT32_MAX) {
                    to[edges] = target;
                    label[edges++] = element_label;
                }
            }
        }
    }
    first[ids->count] = edges;
    return edges;
}

void sonde_hprof_digest(const uint8_t *file, const uint64_t *where, const uint64_t *bytes,
                        uint64_t count, uint64_t *digest)
{
    for (uint64_t o = 0; o < count; o++) {
        const uint8_t *at = file + where[o];
        uint64_t h = bytes[o] * 0x9e3779b97f4a7c15u;
        for (uint64_t left = bytes[o]; left;) {
            uint64_t word = 0, take = left < sizeof word ? left : sizeof word;
            memcpy(&word, at, take);
            h = (h ^ word) * 0xff51afd7ed558ccdu;
            h ^= h >> 32;
            at += take;
            left -= take;
        }
        digest[o] = h;
    }
}
