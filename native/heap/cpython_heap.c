#include "heap/cpython_heap.h"

#include "core/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 0: records differ in length.
static const uint8_t record_bytes[HEAP_KINDS] = {
    [HEAP_HEAD] = sizeof(heap_head),
    [HEAP_OBJECTS] = sizeof(heap_object),
    [HEAP_EDGES] = sizeof(heap_edge),
    [HEAP_VALUES] = sizeof(heap_value),
    [HEAP_CONTAINERS] = sizeof(heap_container),
    [HEAP_LARGE] = sizeof(heap_large),
    [HEAP_ROOTS] = sizeof(heap_root),
    [HEAP_FRAMES] = sizeof(heap_frame),
    [HEAP_REGIONS] = sizeof(uint64_t),
    [HEAP_BITS] = sizeof(uint64_t),
    [HEAP_TOTALS] = sizeof(heap_totals),
};

// Over the blocks of a file.
struct cursor {
    const struct sonde_cpython_file *file;
    uint64_t at; // of the next block
    uint32_t kind, bytes;
    const uint8_t *records;
};

// False at the end, or where the file is cut: `at` is not its end then.
static bool next_block(struct cursor *cursor)
{
    uint32_t head[2];
    uint64_t left = cursor->file->size - cursor->at;
    if (left < sizeof head)
        return false;
    memcpy(head, cursor->file->bytes + cursor->at, sizeof head);
    if (head[1] > left - sizeof head || head[0] == 0 || head[0] >= HEAP_KINDS)
        return false;
    cursor->kind = head[0];
    cursor->bytes = head[1];
    cursor->records = cursor->file->bytes + cursor->at + sizeof head;
    cursor->at += sizeof head + head[1];
    return true;
}

static bool next_of(struct cursor *cursor, uint32_t kind)
{
    while (next_block(cursor))
        if (cursor->kind == kind)
            return true;
    return false;
}

bool sonde_cpython_count(const struct sonde_cpython_file *file, uint64_t counts[HEAP_KINDS])
{
    memset(counts, 0, sizeof counts[0] * HEAP_KINDS);
    struct cursor cursor = {.file = file};
    while (next_block(&cursor)) {
        uint32_t record = record_bytes[cursor.kind];
        if (record && cursor.bytes % record)
            return false;
        counts[cursor.kind] += record ? cursor.bytes / record : cursor.bytes;
    }
    return cursor.at == file->size && counts[HEAP_HEAD] == 1 && counts[HEAP_TOTALS] == 1 &&
           counts[HEAP_BITS] == counts[HEAP_REGIONS] * HEAP_REGION_WORDS;
}

void sonde_cpython_copy(const struct sonde_cpython_file *file, uint32_t kind, uint8_t *to)
{
    struct cursor cursor = {.file = file};
    while (next_of(&cursor, kind)) {
        memcpy(to, cursor.records, cursor.bytes);
        to += cursor.bytes;
    }
}

// ---- objects

static uint32_t number_of(const struct sonde_cpython_map *map, uint32_t ref)
{
    uint64_t word = ref >> 6, bit = (uint64_t)1 << (ref & 63);
    if (word >= map->words || !(map->bits[word] & bit))
        return HEAP_NONE;
    return map->before[word] + (uint32_t)__builtin_popcountll(map->bits[word] & (bit - 1));
}

void sonde_cpython_numbers(const struct sonde_cpython_map *map, const uint32_t *refs,
                           uint64_t count, uint32_t *numbers)
{
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = number_of(map, refs[i]);
}

bool sonde_cpython_read_objects(const struct sonde_cpython_file *file,
                                const struct sonde_cpython_map *map, uint64_t objects,
                                const struct sonde_cpython_objects *to)
{
    struct cursor cursor = {.file = file};
    uint64_t at = 0;
    memset(to->edges, 0xff, objects * sizeof *to->edges);
    while (next_of(&cursor, HEAP_OBJECTS)) {
        for (uint32_t place = 0; place < cursor.bytes; place += sizeof(heap_object)) {
            heap_object object;
            memcpy(&object, cursor.records + place, sizeof object);
            uint32_t number = number_of(map, object.object);
            if (at == objects || number >= objects || to->edges[number] != HEAP_NONE)
                return false;
            to->order[at++] = number;
            to->type[number] = number_of(map, object.type);
            to->size[number] = object.size;
            to->count[number] = object.count;
            to->edges[number] = object.edges;
        }
    }
    return at == objects;
}

// ---- references

// Labels by what they are: kind << 32 | label.
struct label_table {
    uint64_t *keys; // plus one: an empty place has 0
    uint32_t *numbers;
    unsigned bits;
    uint32_t count;
};

static bool table_start(struct label_table *table, uint32_t most)
{
    table->bits = 4;
    while (((uint32_t)1 << table->bits) < 2 * most)
        table->bits++;
    table->keys = calloc((size_t)1 << table->bits, sizeof *table->keys);
    table->numbers = malloc(sizeof *table->numbers << table->bits);
    table->count = 0;
    return table->keys && table->numbers;
}

static uint32_t table_number(struct label_table *table, uint64_t key,
                             const struct sonde_cpython_edges *to)
{
    uint32_t place = sonde_hash_place(key + 1, table->bits);
    while (table->keys[place] && table->keys[place] != key + 1)
        place = (place + 1) & (((uint32_t)1 << table->bits) - 1);
    if (table->keys[place])
        return table->numbers[place];
    // The last places are for labels without a name, of which each kind has one.
    bool has_name = (uint32_t)key != HEAP_NONE;
    if (has_name && table->count + 16 >= to->max_labels)
        return table_number(table, key | HEAP_NONE, to);
    table->keys[place] = key + 1;
    to->labels[table->count] = key;
    return table->numbers[place] = table->count++;
}

// Over records of one length that several blocks have.
struct record_cursor {
    struct cursor blocks;
    uint32_t place;
};

static bool next_edge(struct record_cursor *cursor, heap_edge *edge)
{
    while (cursor->place >= cursor->blocks.bytes) {
        if (!next_of(&cursor->blocks, HEAP_EDGES))
            return false;
        cursor->place = 0;
    }
    memcpy(edge, cursor->blocks.records + cursor->place, sizeof *edge);
    cursor->place += sizeof *edge;
    return true;
}

uint32_t sonde_cpython_read_edges(const struct sonde_cpython_file *file,
                                  const struct sonde_cpython_map *map, const uint32_t *order,
                                  const uint32_t *counts, uint64_t objects,
                                  const struct sonde_cpython_edges *to)
{
    struct label_table table;
    if (!table_start(&table, to->max_labels)) {
        free(table.keys);
        free(table.numbers);
        return HEAP_NONE;
    }
    struct record_cursor cursor = {.blocks = {.file = file}};
    for (uint64_t i = 0; i < objects; i++) {
        uint32_t from = order[i];
        for (uint32_t k = 0; k < counts[from]; k++) {
            heap_edge edge = {HEAP_NONE, HEAP_NONE, EDGE_PLAIN};
            next_edge(&cursor, &edge);
            uint32_t target = number_of(map, edge.target), kind = edge.kind & 15;
            if (target >= objects)
                target = HEAP_NONE;
            uint64_t at = to->first[from] + k;
            // What leads nowhere leads to where it comes from: places stay as they are.
            to->to[at] = target == HEAP_NONE ? from : target;
            if (target == HEAP_NONE)
                kind = EDGE_PLAIN;
            else if (!(edge.kind & EDGE_UNCOUNTED))
                to->in[target]++;
            to->label[at] = table_number(
                &table, (uint64_t)kind << 32 | (kind == EDGE_PLAIN ? HEAP_NONE : edge.label), to);
        }
    }
    free(table.keys);
    free(table.numbers);
    return table.count;
}

// ---- texts

static uint32_t put(uint8_t *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xc0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd; // half a pair is no character
    if (code < 0x10000) {
        to[0] = (uint8_t)(0xe0 | code >> 12);
        to[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        to[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (uint8_t)(0xf0 | (code >> 18 & 7));
    to[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    to[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    to[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

static const char ellipsis[] = "\xe2\x80\xa6";
#define ELLIPSIS_BYTES 3u
#define MAX_CHARACTER_BYTES 4u

static uint32_t text_of(const heap_value *value, const uint8_t *from, uint32_t most, uint8_t *to)
{
    if (value->form == VALUE_INT) {
        int64_t number;
        memcpy(&number, value->digest, sizeof number);
        return (uint32_t)snprintf((char *)to, most, "%lld", (long long)number);
    }
    uint32_t width = value->form == VALUE_BYTES ? 1 : value->form, used = 0, end = 0, i = 0;
    if (width != 1 && width != 2 && width != 4)
        return 0;
    for (; i + width <= value->text_bytes; i += width) {
        uint32_t code = 0;
        memcpy(&code, from + i, width);
        if (value->form == VALUE_BYTES && (code < 32 || code > 126))
            code = '.';
        used += put(to + used, code);
        if (used <= most - ELLIPSIS_BYTES)
            end = used; // where an ellipsis has room
        if (used > most)
            break;
    }
    if (used <= most && (uint64_t)value->length * width <= value->text_bytes)
        return used;
    memcpy(to + end, ellipsis, ELLIPSIS_BYTES);
    return end + ELLIPSIS_BYTES;
}

uint64_t sonde_cpython_texts(const heap_value *values, const uint64_t *where, uint64_t count,
                             const uint8_t *bytes, uint32_t most, uint64_t *end, uint8_t *text)
{
    uint64_t total = 0;
    uint8_t one[1024];
    if (most > sizeof one - MAX_CHARACTER_BYTES - ELLIPSIS_BYTES || most < 32)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t used = text_of(&values[i], bytes + where[i], most, one);
        if (text)
            memcpy(text + total, one, used);
        total += used;
        end[i] = total;
    }
    return total;
}
