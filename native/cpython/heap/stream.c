#define _GNU_SOURCE
#include "cpython/heap/stream.h"

#include "core/base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

heap_block sonde_heap_blocks[HEAP_KINDS];

static int out, failure;

#define NAME_BITS 16
#define MAX_NAMES (1u << (NAME_BITS - 1))
#define MAX_NAME_BYTES 200
typedef struct {
    const char *text;
    uint32_t number;
} name_entry;
static name_entry *names;
static uint32_t name_count;

static void *area(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

bool sonde_heap_stream_start(int fd)
{
    out = fd;
    failure = 0;
    name_count = 0;
    char *blocks = area((size_t)HEAP_BLOCK * HEAP_KINDS);
    names = area(sizeof *names << NAME_BITS);
    if (!blocks || !names)
        return false;
    for (uint32_t kind = 0; kind < HEAP_KINDS; kind++)
        sonde_heap_blocks[kind] = (heap_block){0, blocks + (size_t)kind * HEAP_BLOCK};
    return true;
}

static void write_all(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes && !failure) {
        ssize_t n = write(out, at, bytes);
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        } else if (n == 0 || errno != EINTR)
            failure = n ? errno : EIO;
    }
}

void sonde_heap_stream_flush(heap_kind kind)
{
    heap_block *block = &sonde_heap_blocks[kind];
    uint32_t head[2] = {(uint32_t)kind, block->used};
    if (block->used) {
        write_all(head, sizeof head);
        write_all(block->at, block->used);
    }
    block->used = 0;
}

int sonde_heap_stream_end(void)
{
    for (heap_kind kind = HEAP_HEAD; kind < HEAP_KINDS; kind++)
        sonde_heap_stream_flush(kind);
    return failure;
}

uint32_t sonde_heap_name(const char *text)
{
    uint32_t place = sonde_hash_place((uintptr_t)text, NAME_BITS);
    while (names[place].text && names[place].text != text)
        place = (place + 1) & ((1u << NAME_BITS) - 1);
    if (names[place].text)
        return names[place].number;
    if (name_count == MAX_NAMES)
        return HEAP_NONE;
    names[place] = (name_entry){text, name_count++};
    uint16_t length = (uint16_t)strnlen(text, MAX_NAME_BYTES);
    char *to = heap_room(HEAP_NAMES, sizeof length + length);
    memcpy(to, &length, sizeof length);
    memcpy(to + sizeof length, text, length);
    return names[place].number;
}
