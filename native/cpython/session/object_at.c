#include "cpython/session/object_at.h"

#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"
#include "cpython/objects/block_types.h"

#include <string.h>

// pymalloc's pools: 16 KiB at a multiple of that, of blocks of one size (obmalloc.c, 3.11 to 3.15).
#define POOL_SIZE_ (16u << 10)
#define ALIGNMENT_ 16u
typedef struct {
    uint32_t used, pad;
    void *free;
    void *next, *previous;
    uint32_t arena, size_class, next_offset, max_next_offset;
} pool_t;

SONDE_FOREIGN static bool is_pool(const pool_t *pool, uint32_t *block)
{
    if (pool->size_class >= 32)
        return false;
    uint32_t size = (pool->size_class + 1) * ALIGNMENT_, room = POOL_SIZE_ - sizeof *pool;
    *block = size;
    return pool->max_next_offset == POOL_SIZE_ - size && pool->used <= room / size &&
           pool->next_offset >= sizeof *pool + size && pool->next_offset <= POOL_SIZE_ &&
           (pool->next_offset - sizeof *pool) % size == 0;
}

// A free block begins with a pointer to the next one, where an object has its reference count.
SONDE_FOREIGN static bool is_counted(const PyObject *object)
{
    uint64_t word;
    memcpy(&word, object, sizeof word);
    const uint64_t most = UINT32_MAX; // the immortal ones' up to 3.13
#if PY_VERSION_HEX >= 0x030E0000
    word &= ~((uint64_t)0xffff << 48); // flags
#endif
    return word && word <= most;
}

SONDE_FOREIGN void sonde_cpython_data(sonde_thread *thread, uintptr_t address, sonde_data *found)
{
    const pool_t *pool = (const pool_t *)(address & ~(uintptr_t)(POOL_SIZE_ - 1));
    uint32_t size;
    if (!is_pool(pool, &size))
        return;
    found->memory = SONDE_MEMORY_POOL;
    uint32_t at = (uint32_t)(address - (uintptr_t)pool);
    if (at < sizeof *pool)
        return;
    uint32_t start = (uint32_t)sizeof *pool + (at - (uint32_t)sizeof *pool) / size * size;
    if (start + size > pool->next_offset) // never handed out
        return;
    for (uint32_t skipped = 0; skipped <= 32 && skipped + sizeof(PyObject) <= size; skipped += 16) {
        const PyObject *object = (const PyObject *)((const char *)pool + start + skipped);
        const PyTypeObject *type = object->ob_type;
        if (!is_counted(object) || !sonde_is_type(type) || sonde_bytes_before(type) != skipped ||
            type->tp_basicsize < (Py_ssize_t)sizeof(PyObject) ||
            (size_t)type->tp_basicsize + skipped > size)
            continue;
        found->type = sonde_report_type(thread, type);
        // Of what lies before an object none is the object's own, but all of it is there for it.
        found->offset = address - (uintptr_t)object;
        return;
    }
}
