// Heap dump records: whatever bytes a file has, nothing beyond them is read.
#include "check.h"
#include "heap/hprof.h"

#include <string.h>

#define OBJECTS 64u

typedef struct {
    uint8_t *bytes;
    uint64_t size;
} file;

static void put(file *f, uint64_t value, uint32_t bytes)
{
    f->bytes = realloc(f->bytes, f->size + bytes);
    CHECK(f->bytes);
    for (uint32_t i = 0; i < bytes; i++)
        f->bytes[f->size++] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

// A class with one reference, an instance, an array of it and of nothing, three bytes, a root.
static file small(uint32_t id)
{
    file f = {0};
    put(&f, 0x20, 1), put(&f, 0x10, id), put(&f, 0, 4);
    for (int i = 0; i < 6; i++)
        put(&f, 0, id);
    put(&f, 16, 4), put(&f, 0, 2), put(&f, 0, 2), put(&f, 1, 2), put(&f, 0x99, id), put(&f, 2, 1);
    put(&f, 0x21, 1), put(&f, 0x20, id), put(&f, 0, 4), put(&f, 0x10, id), put(&f, id, 4);
    put(&f, 0x30, id);
    put(&f, 0x22, 1), put(&f, 0x30, id), put(&f, 0, 4), put(&f, 2, 4), put(&f, 0x10, id);
    put(&f, 0x20, id), put(&f, 0, id);
    put(&f, 0x23, 1), put(&f, 0x40, id), put(&f, 0, 4), put(&f, 3, 4), put(&f, 8, 1);
    put(&f, 0x616263, 3);
    put(&f, 0x03, 1), put(&f, 0x20, id), put(&f, 1, 4), put(&f, 2, 4);
    return f;
}

typedef struct {
    uint64_t id[OBJECTS], class_id[OBJECTS], where[OBJECTS], root[OBJECTS];
    uint32_t length[OBJECTS], thread[OBJECTS], frame[OBJECTS];
    uint8_t kind[OBJECTS], root_kind[OBJECTS];
} tables;

static struct sonde_hprof_counts read_all(const file *f, uint32_t id, tables *t)
{
    struct sonde_hprof_counts counts;
    struct sonde_hprof_segment all = {0, f->size};
    sonde_hprof_count(f->bytes, &all, 1, id, &counts);
    if (counts.error)
        all.end = counts.error_at;
    CHECK(all.end <= f->size);
    sonde_hprof_count(f->bytes, &all, 1, id, &counts);
    CHECK(!counts.error && counts.objects <= OBJECTS && counts.roots <= OBJECTS);
    struct sonde_hprof_objects objects = {t->id, t->class_id, t->where, t->length, t->kind};
    struct sonde_hprof_roots roots = {t->root, t->root_kind, t->thread, t->frame};
    sonde_hprof_read(f->bytes, &all, 1, id, &objects, &roots);
    return counts;
}

static void a_small_file(void)
{
    for (uint32_t id = 4; id <= 8; id += 4) {
        file f = small(id);
        tables t;
        struct sonde_hprof_counts counts = read_all(&f, id, &t);
        CHECK_EQUAL(counts.objects, 4);
        CHECK_EQUAL(counts.roots, 1);
        CHECK_EQUAL(counts.elements, 2);
        CHECK(t.id[1] == 0x20 && t.class_id[1] == 0x10 && t.kind[1] == SONDE_HPROF_INSTANCE);
        CHECK(t.root[0] == 0x20 && t.root_kind[0] == 3 && t.thread[0] == 1 && t.frame[0] == 2);
        uint32_t index[] = {0, 1, 2, 3, 4};
        struct sonde_hprof_ids ids = {t.id, 4, index, 4, 0x10, 4};
        CHECK_EQUAL(sonde_hprof_find(&ids, 0x30), 2);
        CHECK_EQUAL(sonde_hprof_find(&ids, 0x31), UINT32_MAX);
        CHECK_EQUAL(sonde_hprof_find(&ids, 0x8), UINT32_MAX);
        CHECK_EQUAL(sonde_hprof_find(&ids, UINT64_MAX), UINT32_MAX);
        uint32_t class_of[] = {1, 0, 1, 1}, fields_first[] = {0, 1, 1}, offset[] = {0};
        uint32_t name[] = {5}, to[3], label[3];
        uint64_t first[5];
        struct sonde_hprof_fields fields = {fields_first, offset, name};
        uint64_t edges = sonde_hprof_references(f.bytes, id, &ids, t.where, t.length, t.kind,
                                                class_of, &fields, 9, first, to, label);
        CHECK_EQUAL(edges, 2);
        CHECK(first[1] == 0 && first[2] == 1 && first[3] == 2 && first[4] == 2);
        CHECK(to[0] == 2 && label[0] == 5 && to[1] == 1 && label[1] == 9);
        uint64_t places[] = {t.where[3], t.where[3]}, bytes[] = {3, 2}, digest[2];
        sonde_hprof_digest(f.bytes, places, bytes, 2, digest);
        CHECK(digest[0] != digest[1]);
        free(f.bytes);
    }
}

static void every_end(void)
{
    file whole = small(8);
    for (uint64_t size = 0; size < whole.size; size++) {
        file f = {malloc(size ? size : 1), size};
        CHECK(f.bytes);
        memcpy(f.bytes, whole.bytes, size);
        tables t;
        CHECK(read_all(&f, 8, &t).objects <= 4);
        free(f.bytes);
    }
    free(whole.bytes);
}

static void wrong_bytes(void)
{
    uint64_t state = 3;
    for (int round = 0; round < 20000; round++) {
        uint32_t id = draw(&state) % 2 ? 4 : 8;
        file f = small(id);
        for (uint64_t left = 1 + draw(&state) % 3; left; left--)
            f.bytes[draw(&state) % f.size] = (uint8_t)draw(&state);
        tables t;
        read_all(&f, id, &t);
        free(f.bytes);
    }
}

int main(void)
{
    RUN(a_small_file);
    RUN(every_end);
    RUN(wrong_bytes);
    return 0;
}
