#include "cpython/session/object_at.h"

#include "core/session/name_records.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"

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

SONDE_FOREIGN static bool is_type(const PyTypeObject *type)
{
    if (!type || !may_be_address(type))
        return false;
    const PyTypeObject *meta = Py_TYPE(type);
    if (!meta || !may_be_address(meta))
        return false;
    // A type's type is a type, and somewhere that is `type` itself.
    return (meta == &PyType_Type ||
            (Py_TYPE(meta) == &PyType_Type && (meta->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS))) &&
           (type->tp_flags & Py_TPFLAGS_READY) && type->tp_name;
}

// What lies before an object in its block: the collector's links, and pointers to its dictionary
// and weak references.
SONDE_FOREIGN static uint32_t before(const PyTypeObject *type)
{
    uint32_t size = type->tp_flags & Py_TPFLAGS_HAVE_GC ? 16 : 0;
#if PY_VERSION_HEX >= 0x030C0000
    unsigned long has_more = Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF;
#else
    unsigned long has_more = Py_TPFLAGS_MANAGED_DICT;
#endif
    return type->tp_flags & has_more ? size + 16 : size;
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

static uint64_t name_id(const char *name, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u;
    return hash | 1;
}

// Types are identified by name: one that died leaves nothing to be mistaken for it.
static uint64_t report_type(sonde_thread *thread, const PyTypeObject *type)
{
    char name[256]; // a copy: what is reported must be what was hashed
    size_t length = strnlen(type->tp_name, sizeof name - 1);
    memcpy(name, type->tp_name, length);
    name[length] = 0;
    if (!length)
        return 0;
    uint64_t id = name_id(name, length);
    // The set knows addresses of 44 bits and a multiple of eight.
    const void *key = (const void *)(uintptr_t)((id & (((uint64_t)1 << 44) - 1)) << 3);
    bool fresh;
    if (!sonde_seen_add(sonde.seen, key, &fresh))
        return 0;
    if (fresh && !sonde_write_type(&thread->ring, id, name)) {
        sonde_seen_remove(sonde.seen, key);
        return 0;
    }
    return id;
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
        if (!is_counted(object) || !is_type(type) || before(type) != skipped ||
            type->tp_basicsize < (Py_ssize_t)sizeof(PyObject) ||
            (size_t)type->tp_basicsize + skipped > size)
            continue;
        found->type = report_type(thread, type);
        // Of what lies before an object none is the object's own, but all of it is there for it.
        found->offset = address - (uintptr_t)object;
        return;
    }
}
