#define _GNU_SOURCE
#include "cpython/objects/block_types.h"

#include "core/session/name_records.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"

#include <string.h>

SONDE_FOREIGN bool sonde_is_type(const PyTypeObject *type)
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

SONDE_FOREIGN uint32_t sonde_bytes_before(const PyTypeObject *type)
{
    uint32_t size = type->tp_flags & Py_TPFLAGS_HAVE_GC ? 16 : 0;
#if PY_VERSION_HEX >= 0x030C0000
    unsigned long has_more = Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF;
#else
    unsigned long has_more = Py_TPFLAGS_MANAGED_DICT;
#endif
    return type->tp_flags & has_more ? size + 16 : size;
}

// An object has its reference count where other blocks may have anything; 0 while it is freed.
SONDE_FOREIGN static bool may_be_count(const PyObject *object)
{
    uint64_t word;
    memcpy(&word, object, sizeof word);
#if PY_VERSION_HEX >= 0x030E0000
    word &= ~((uint64_t)0xffff << 48); // flags
#endif
    return word <= UINT32_MAX; // the immortal ones' up to 3.13
}

// Basic sizes may be those of the allocation rounded up (seen on str, bytes and types of one
// member).
#define ROUNDED 15u
#define MAX_BASIC_SIZE 65536

// What a type is called: those of C have their module's name in front, those of Python are known by
// the classes and functions around them, too.
SONDE_FOREIGN static void copy_name(const PyTypeObject *type, char name[SONDE_TYPE_NAME])
{
    const char *from = type->tp_name;
    size_t length = strnlen(from, SONDE_TYPE_NAME - 1);
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !memchr(from, '.', length)) {
        const PyObject *qualified = ((const PyHeapTypeObject *)type)->ht_qualname;
        if (qualified && may_be_address(qualified) && Py_TYPE(qualified) == &PyUnicode_Type &&
            PyUnicode_IS_COMPACT_ASCII(qualified)) {
            from = (const char *)((const PyASCIIObject *)qualified + 1);
            length = (size_t)((const PyASCIIObject *)qualified)->length;
            length = length < SONDE_TYPE_NAME ? length : SONDE_TYPE_NAME - 1;
        }
    }
    memcpy(name, from, length);
    name[length] = 0;
}

typedef struct {
    const char *block;
    size_t size;
    sonde_found_object *found;
    bool is_found;
} find_job;

SONDE_FOREIGN static void find(void *arg)
{
    find_job *job = arg;
    static const uint32_t before[] = {16, 0, 32};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        uint32_t skipped = before[i];
        if (job->size < skipped + sizeof(PyObject))
            continue;
        const PyObject *object = (const PyObject *)(job->block + skipped);
        const PyTypeObject *type = object->ob_type;
        if (!may_be_count(object) || !sonde_is_type(type) ||
            type->tp_basicsize < (Py_ssize_t)sizeof(PyObject) ||
            type->tp_basicsize >= MAX_BASIC_SIZE || sonde_bytes_before(type) != skipped)
            continue;
        // A string's basic size is that of its largest form.
        size_t least = type == &PyUnicode_Type ? sizeof(PyASCIIObject) : (size_t)type->tp_basicsize;
        if (least + skipped <= job->size + ROUNDED) {
            job->found->address = (uintptr_t)object;
            copy_name(type, job->found->type);
            job->is_found = true;
            return;
        }
    }
}

bool sonde_find_object(const void *block, size_t size, sonde_found_object *found)
{
    find_job job = {block, size, found, false};
    return sonde_guard_works_here() && sonde_guard_run(find, &job) && job.is_found;
}

static uint64_t name_id(const char *name, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u;
    return hash | 1;
}

// Types are identified by name: one that died leaves nothing to be mistaken for it.
uint64_t sonde_report_type_name(sonde_thread *thread, const char *name)
{
    size_t length = strlen(name);
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

SONDE_FOREIGN uint64_t sonde_report_type(sonde_thread *thread, const PyTypeObject *type)
{
    char name[SONDE_TYPE_NAME]; // a copy: what is reported must be what was hashed
    copy_name(type, name);
    return sonde_report_type_name(thread, name);
}
