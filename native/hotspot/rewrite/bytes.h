// Class files are big-endian bytes: reading them within bounds, and appending to what grows.
#ifndef SONDE_HOTSPOT_BYTES_H
#define SONDE_HOTSPOT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Past the end everything reads as 0 and `failed` is set: one check after many reads is enough.
typedef struct {
    const uint8_t *data;
    size_t size, at;
    bool failed;
} sonde_reader;

static inline const uint8_t *sonde_read_bytes(sonde_reader *from, size_t size)
{
    if (size > from->size - from->at) {
        from->failed = true;
        from->at = from->size;
        return NULL;
    }
    from->at += size;
    return from->data + (from->at - size);
}

static inline uint32_t sonde_read_number(sonde_reader *from, size_t size)
{
    const uint8_t *bytes = sonde_read_bytes(from, size);
    uint32_t number = 0;
    for (size_t i = 0; bytes && i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static inline uint32_t sonde_read_u1(sonde_reader *from) { return sonde_read_number(from, 1); }
static inline uint32_t sonde_read_u2(sonde_reader *from) { return sonde_read_number(from, 2); }
static inline uint32_t sonde_read_u4(sonde_reader *from) { return sonde_read_number(from, 4); }

// A part of it, which is skipped here.
static inline sonde_reader sonde_read_part(sonde_reader *from, size_t size)
{
    const uint8_t *bytes = sonde_read_bytes(from, size);
    return (sonde_reader){bytes, bytes ? size : 0, 0, !bytes};
}

// Without memory `failed` is set and nothing more is appended.
typedef struct {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} sonde_output;

static inline uint8_t *sonde_append_room(sonde_output *to, size_t size)
{
    if (to->failed)
        return NULL;
    if (size > to->capacity - to->size) {
        size_t capacity = (to->size + size) * 2 + 64;
        uint8_t *data = realloc(to->data, capacity);
        if (!data) {
            to->failed = true;
            return NULL;
        }
        to->data = data;
        to->capacity = capacity;
    }
    to->size += size;
    return to->data + (to->size - size);
}

static inline void sonde_append(sonde_output *to, const void *bytes, size_t size)
{
    uint8_t *room = size ? sonde_append_room(to, size) : NULL;
    if (room)
        memcpy(room, bytes, size);
}

static inline void sonde_put_number(uint8_t *to, size_t size, uint32_t number)
{
    for (size_t i = size; i--; number >>= 8)
        to[i] = (uint8_t)number;
}

static inline void sonde_append_number(sonde_output *to, size_t size, uint32_t number)
{
    uint8_t *room = sonde_append_room(to, size);
    if (room)
        sonde_put_number(room, size, number);
}

static inline void sonde_append_u1(sonde_output *to, uint32_t n) { sonde_append_number(to, 1, n); }
static inline void sonde_append_u2(sonde_output *to, uint32_t n) { sonde_append_number(to, 2, n); }
static inline void sonde_append_u4(sonde_output *to, uint32_t n) { sonde_append_number(to, 4, n); }

static inline void sonde_output_free(sonde_output *output)
{
    free(output->data);
    *output = (sonde_output){0};
}

#endif
