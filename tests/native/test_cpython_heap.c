// What the agent writes of a heap is what the reader finds; files that are cut or changed are
// refused, or lead nowhere that is not theirs.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/heap_file.h"
#include "cpython/heap/region_map.h"
#include "cpython/heap/stream.h"
#include "heap/cpython_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OBJECTS 3000
#define REGION ((uint64_t)1 << HEAP_REGION_SHIFT)

// Addresses of many regions, which are met from the highest one down.
static uint64_t address(uint32_t object)
{
    return (uint64_t)0x7f0000000000 + object / 100 * REGION * 3 + object % 100 * 48;
}

static void *pointer(uint32_t object) { return (void *)(uintptr_t)address(object); }

static void write_object(uint32_t object)
{
    uint32_t ref = heap_ref(pointer(object));
    heap_edge *edge = heap_room(HEAP_EDGES, sizeof *edge);
    *edge = (heap_edge){heap_want(pointer((object + 1) % OBJECTS)), HEAP_NONE, EDGE_INDEX};
    edge = heap_room(HEAP_EDGES, sizeof *edge);
    *edge = (heap_edge){heap_want(pointer(0)), sonde_heap_name(object % 2 ? "odd" : "even"),
                        EDGE_FIXED | EDGE_UNCOUNTED};
    heap_object *record = heap_room(HEAP_OBJECTS, sizeof *record);
    *record = (heap_object){ref, heap_want(pointer(0)), 48 + object, 1, 2};
}

static int write_heap(void)
{
    int fd = memfd_create("heap", 0);
    CHECK(sonde_heap_stream_start(fd) && sonde_heap_regions_start());
    heap_head *head = heap_room(HEAP_HEAD, sizeof *head);
    *head = (heap_head){SONDE_HEAP_MAGIC, 0, 0};
    uint64_t written = 0;
    heap_mark_part(heap_ref(pointer(OBJECTS + 1))); // has a bit in the map of what was written only
    CHECK(heap_want(pointer(OBJECTS - 1)) != HEAP_NONE);
    for (uintptr_t at; (at = sonde_heap_region_next()); written++) {
        uint64_t region = (at - 0x7f0000000000) / (3 * REGION);
        write_object((uint32_t)(region * 100 + (at & (REGION - 1)) / 48));
    }
    CHECK(written == OBJECTS); // each once: they refer to each other in a ring
    for (uint32_t i = 0; i < sonde_heap_region_count; i++) {
        heap_region *region = sonde_heap_regions[i];
        memcpy(heap_room(HEAP_REGIONS, 8), &region->number, 8);
        uint64_t *bits = heap_room(HEAP_BITS, sizeof region->written);
        for (int word = 0; word < HEAP_REGION_WORDS; word++)
            bits[word] = region->written[word] & ~region->parts[word];
    }
    heap_totals *totals = heap_room(HEAP_TOTALS, sizeof *totals);
    *totals = (heap_totals){OBJECTS, 2 * OBJECTS, 0, 0};
    CHECK(sonde_heap_stream_end() == 0);
    CHECK(sonde_heap_left_out == 0);
    return fd;
}

typedef struct {
    uint64_t *numbers, *bits;
    uint32_t *before;
    struct sonde_cpython_map map;
} bit_map;

// As src/sonde/heap/cpython/file.py does it.
static bit_map read_map(const struct sonde_cpython_file *file, const uint64_t *counts)
{
    bit_map found = {malloc(8 * counts[HEAP_REGIONS] + 8),
                     malloc(8 * counts[HEAP_BITS] + 8),
                     calloc(counts[HEAP_BITS] + 1, 4),
                     {0}};
    sonde_cpython_copy(file, HEAP_REGIONS, (uint8_t *)found.numbers);
    sonde_cpython_copy(file, HEAP_BITS, (uint8_t *)found.bits);
    for (uint64_t i = 0; i < counts[HEAP_REGIONS]; i++) {
        uint32_t rank = 0;
        for (uint64_t k = 0; k < counts[HEAP_REGIONS]; k++)
            for (uint64_t w = 0; found.numbers[k] < found.numbers[i] && w < HEAP_REGION_WORDS; w++)
                rank += (uint32_t)__builtin_popcountll(found.bits[k * HEAP_REGION_WORDS + w]);
        for (uint64_t w = 0; w < HEAP_REGION_WORDS; w++) {
            found.before[i * HEAP_REGION_WORDS + w] = rank;
            rank += (uint32_t)__builtin_popcountll(found.bits[i * HEAP_REGION_WORDS + w]);
        }
    }
    found.map = (struct sonde_cpython_map){found.bits, found.before, counts[HEAP_BITS]};
    return found;
}

// Reads all there is. False: refused.
static bool read_heap(const uint8_t *bytes, uint64_t size, bool check)
{
    struct sonde_cpython_file file = {bytes, size};
    uint64_t counts[HEAP_KINDS];
    if (!sonde_cpython_count(&file, counts))
        return false;
    bit_map map = read_map(&file, counts);
    uint64_t n = counts[HEAP_OBJECTS];
    uint32_t *columns = calloc(n + 1, 6 * sizeof *columns);
    uint32_t *type = columns, *count = type + n, *edges = count + n, *order = edges + n,
             *in = order + n;
    uint64_t *sizes = calloc(n + 1, sizeof *sizes), *first = calloc(n + 2, sizeof *first);
    struct sonde_cpython_objects objects = {type, sizes, count, edges, order};
    bool good = sonde_cpython_read_objects(&file, &map.map, n, &objects);
    for (uint64_t i = 0; good && i < n; i++)
        first[i + 1] = first[i] + edges[i];
    good = good && first[n] == counts[HEAP_EDGES];
    if (good) {
        uint64_t total = first[n], labels[64];
        uint32_t *to = malloc(4 * total + 4), *label = malloc(4 * total + 4);
        struct sonde_cpython_edges found = {first, to, label, in, labels, 64};
        uint32_t label_count = sonde_cpython_read_edges(&file, &map.map, order, edges, n, &found);
        CHECK(label_count <= 64);
        for (uint64_t i = 0; i < total; i++)
            CHECK(to[i] < n && label[i] < label_count);
        if (check) {
            CHECK(n == OBJECTS && label_count == 3);
            for (uint32_t i = 0; i < n; i++) {
                CHECK(sizes[i] == 48 + i); // numbers follow addresses
                CHECK(type[i] == 0 && in[i] == 1);
                CHECK(to[first[i]] == (i + 1) % OBJECTS && to[first[i] + 1] == 0);
                CHECK(labels[label[first[i] + 1]] >> 32 == EDGE_FIXED);
                CHECK(label[first[i] + 1] == label[first[i % 2] + 1]);
            }
        }
        free(to);
        free(label);
    }
    free(columns);
    free(sizes);
    free(first);
    free(map.numbers);
    free(map.bits);
    free(map.before);
    return good;
}

static void test_damage(const uint8_t *bytes, uint64_t size)
{
    uint8_t *copy = malloc(size);
    uint32_t seed = 1;
    for (int i = 0; i < 300; i++) {
        memcpy(copy, bytes, size);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            // Mostly where objects and edges are.
            copy[(seed >> 8) % (i % 2           ? size
                                : size < 150000 ? size
                                                : 150000)] ^= (uint8_t)(1 + (seed >> 24) % 255);
        }
        read_heap(copy, size, false);
    }
    free(copy);
    for (uint64_t cut = 0; cut < size; cut += size / 61 + 1) {
        uint8_t *part = malloc(cut + 1); // so that what is behind it is noticed
        memcpy(part, bytes, cut);
        CHECK(!read_heap(part, cut, false));
        free(part);
    }
}

static void test_texts(void)
{
    static const uint8_t bytes[] = "abc\xe4\x2d\x4e\x00\xf6\x01\x00";
    heap_value values[] = {
        {.length = 3, .text_bytes = 3, .form = 1},
        {.length = 1, .text_bytes = 1, .form = 1},
        {.length = 1, .text_bytes = 2, .form = 2},
        {.digest = {(uint32_t)-5, UINT32_MAX}, .form = VALUE_INT},
        {.length = 900, .text_bytes = 3, .form = 1},
        {.length = 1, .text_bytes = 1, .form = 77},
    };
    uint64_t where[] = {0, 3, 4, 0, 0, 0}, end[6];
    uint8_t text[64];
    CHECK(sonde_cpython_texts(values, where, 6, bytes, 40, end, NULL) == 16);
    CHECK(sonde_cpython_texts(values, where, 6, bytes, 40, end, text) == 16);
    CHECK(!memcmp(text, "abc\xc3\xa4\xe4\xb8\xad-5abc\xe2\x80\xa6", 16));
    CHECK(end[0] == 3 && end[1] == 5 && end[2] == 8 && end[3] == 10 && end[4] == 16);
    CHECK(end[5] == 16);
}

static void test_too_many_regions(void)
{
    CHECK(sonde_heap_regions_start());
    for (uint64_t i = 0; i < MAX_REGIONS; i++)
        CHECK(heap_ref_is_valid(heap_ref((void *)(uintptr_t)(i * REGION))));
    void *more = (void *)(uintptr_t)(MAX_REGIONS * REGION);
    CHECK(!heap_ref_is_valid(heap_ref(more)));
    CHECK(heap_want(more) == HEAP_NONE && sonde_heap_left_out == 1);
    CHECK(!heap_mark_written(heap_ref(more)));
}

int main(void)
{
    int fd = write_heap();
    uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END);
    uint8_t *bytes = malloc(size);
    CHECK(pread(fd, bytes, size, 0) == (ssize_t)size);
    CHECK(read_heap(bytes, size, true));
    test_damage(bytes, size);
    free(bytes);
    test_texts();
    test_too_many_regions();
    puts("ok");
    return 0;
}
