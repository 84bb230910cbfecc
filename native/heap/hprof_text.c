#include "heap/hprof_text.h"

#include <string.h>

enum {
    CHARS = 5, // element types
    BYTES = 8,
    REPLACEMENT = 0xfffd,
};

// The characters of a string: units of one byte, or of two in either order.
struct units {
    const uint8_t *at;
    uint64_t count;
    bool wide;
    bool big_endian;
};

static uint32_t unit(const struct units *units, uint64_t i)
{
    if (!units->wide)
        return units->at[i];
    const uint8_t *at = units->at + 2 * i;
    return units->big_endian ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static uint32_t next_character(const struct units *units, uint64_t *i)
{
    uint32_t first = unit(units, (*i)++);
    if (first < 0xd800 || first > 0xdfff)
        return first;
    if (first > 0xdbff || *i == units->count)
        return REPLACEMENT;
    uint32_t second = unit(units, *i);
    if (second < 0xdc00 || second > 0xdfff)
        return REPLACEMENT;
    ++*i;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

static uint32_t encode(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

// Writes the characters that end within `limit` bytes, if `text` is there, and returns their size.
// `all` says whether that was all of them.
static uint32_t write_within(const struct units *units, uint32_t limit, uint8_t *text, bool *all)
{
    uint32_t size = 0;
    uint8_t bytes[4];
    *all = true;
    for (uint64_t i = 0; i < units->count;) {
        uint32_t step = encode(next_character(units, &i), bytes);
        if (size + step > limit) {
            *all = false;
            break;
        }
        if (text)
            memcpy(text + size, bytes, step);
        size += step;
    }
    return size;
}

// How many bytes were written, or would be.
static uint32_t write_text(const struct units *units, uint32_t max_bytes, uint8_t *text)
{
    bool all;
    uint32_t size = write_within(units, max_bytes, NULL, &all);
    if (all) {
        if (text)
            write_within(units, max_bytes, text, &all);
        return size;
    }
    uint8_t ellipsis[4];
    uint32_t more = encode(0x2026, ellipsis);
    size = write_within(units, max_bytes - more, text, &all);
    if (text)
        memcpy(text + size, ellipsis, more);
    return size + more;
}

static uint64_t identifier(const uint8_t *at, uint32_t id_size)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < id_size; i++)
        id = id << 8 | at[i];
    return id;
}

static struct units units_of(const uint8_t *file, uint32_t id_size,
                             const struct sonde_hprof_ids *ids,
                             const struct sonde_hprof_objects *objects, uint32_t string,
                             const struct sonde_hprof_string *layout)
{
    struct units units = {0};
    const uint8_t *fields = file + objects->where[string];
    uint64_t length = objects->length[string];
    if ((uint64_t)layout->value + id_size > length)
        return units;
    uint32_t array = sonde_hprof_find(ids, identifier(fields + layout->value, id_size));
    if (array == UINT32_MAX || objects->kind[array] != SONDE_HPROF_VALUES)
        return units;
    units.at = file + objects->where[array];
    units.count = objects->length[array];
    if (objects->class_id[array] == CHARS) {
        units.wide = units.big_endian = true;
    } else if (objects->class_id[array] != BYTES) {
        units.count = 0;
    } else if (layout->coder < length && fields[layout->coder]) {
        // Unlike everything else in the file, in the order of the machine.
        units.wide = true;
        units.count /= 2;
    }
    return units;
}

uint64_t sonde_hprof_texts(const uint8_t *file, uint32_t id_size, const struct sonde_hprof_ids *ids,
                           const struct sonde_hprof_objects *objects, const uint32_t *strings,
                           uint64_t count, const struct sonde_hprof_string *layout,
                           uint32_t max_bytes, uint64_t *end, uint8_t *text)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct units units = units_of(file, id_size, ids, objects, strings[i], layout);
        at += write_text(&units, max_bytes, text ? text + at : NULL);
        end[i] = at;
    }
    return at;
}

void sonde_hprof_positions(const uint8_t *file, uint32_t id_size, const struct sonde_hprof_ids *ids,
                           const uint64_t *where, const uint32_t *length, const uint8_t *kind,
                           uint32_t *position)
{
    uint64_t edges = 0;
    for (uint64_t o = 0; o < ids->count; o++) {
        if (kind[o] != SONDE_HPROF_OBJECTS)
            continue;
        const uint8_t *at = file + where[o];
        for (uint64_t i = 0; i < length[o]; i++)
            if (sonde_hprof_find(ids, identifier(at + i * id_size, id_size)) != UINT32_MAX)
                position[edges++] = (uint32_t)i;
    }
}
