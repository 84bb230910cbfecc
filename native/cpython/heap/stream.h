// What a walk over the heap writes, in the form of core/base/heap_file.h. Only system calls: the
// walk runs in a copy of the process, whose locks may be held by threads that are not there.
#ifndef SONDE_CPYTHON_HEAP_STREAM_H
#define SONDE_CPYTHON_HEAP_STREAM_H

#include "core/base/heap_file.h"

#include <stdbool.h>

#define HEAP_BLOCK (1u << 20)
typedef struct {
    uint32_t used;
    char *at;
} heap_block;
extern heap_block sonde_heap_blocks[HEAP_KINDS];

bool sonde_heap_stream_start(int fd);
void sonde_heap_stream_flush(heap_kind kind);
// All that is left. The errno of the first write that failed, or 0.
int sonde_heap_stream_end(void);

// The number of a name that is no object of the program's; the text stays where it is.
uint32_t sonde_heap_name(const char *text);

static inline void *heap_room(heap_kind kind, uint32_t bytes)
{
    heap_block *block = &sonde_heap_blocks[kind];
    if (block->used + bytes > HEAP_BLOCK)
        sonde_heap_stream_flush(kind);
    void *at = block->at + block->used;
    block->used += bytes;
    return at;
}

#endif
