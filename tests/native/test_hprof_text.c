// Texts of strings: nothing is read beyond them, whatever their fields say.
#include "check.h"
#include "heap/hprof_text.h"

#include <string.h>

#define MAX_BYTES 8u

// Two objects: a string with a reference to an array and a coder, and that array.
typedef struct {
    uint8_t *bytes;
    uint64_t id[2], class_id[2], where[2];
    uint32_t length[2];
    uint8_t kind[2];
} heap;

static heap string_of(const void *units, uint32_t bytes, uint8_t element, uint8_t coder)
{
    heap h = {
        .bytes = malloc(9 + bytes),
        .id = {0x10, 0x20},
        .class_id = {1, element},
        .where = {0, 9},
        .length = {9, element == 5 ? bytes / 2 : bytes},
        .kind = {SONDE_HPROF_INSTANCE, SONDE_HPROF_VALUES},
    };
    CHECK(h.bytes);
    memset(h.bytes, 0, 8);
    h.bytes[7] = 0x20;
    h.bytes[8] = coder;
    memcpy(h.bytes + 9, units, bytes);
    return h;
}

static void check_text(heap h, const char *expected)
{
    uint32_t index[] = {0, 2};
    struct sonde_hprof_ids ids = {h.id, 2, index, 1, 0x10, 8};
    struct sonde_hprof_objects objects = {h.id, h.class_id, h.where, h.length, h.kind};
    struct sonde_hprof_string layout = {0, 8};
    uint32_t string = 0;
    uint64_t end;
    uint64_t size =
        sonde_hprof_texts(h.bytes, 8, &ids, &objects, &string, 1, &layout, MAX_BYTES, &end, NULL);
    uint8_t *text = malloc(size ? size : 1);
    CHECK(text);
    CHECK_EQUAL(
        sonde_hprof_texts(h.bytes, 8, &ids, &objects, &string, 1, &layout, MAX_BYTES, &end, text),
        size);
    CHECK_EQUAL(end, size);
    CHECK_EQUAL(size, strlen(expected));
    CHECK(!memcmp(text, expected, size));
    free(text);
    free(h.bytes);
}

static void each_encoding(void)
{
    check_text(string_of("abc", 3, 8, 0), "abc");
    check_text(string_of("", 0, 8, 0), "");
    check_text(string_of("\xe4", 1, 8, 0), "\xc3\xa4");
    check_text(string_of("\xe4\0b\0", 4, 8, 1), "\xc3\xa4"
                                                "b");
    check_text(string_of("\0a\0b", 4, 5, 0), "ab");
    check_text(string_of("\x3d\xd8\x00\xde", 4, 8, 1), "\xf0\x9f\x98\x80");
    check_text(string_of("a\0\x3d\xd8", 4, 8, 1), "a\xef\xbf\xbd");
    check_text(string_of("a\0\x3d\xd8"
                         "b\0",
                         6, 8, 1),
               "a\xef\xbf\xbd"
               "b");
    check_text(string_of("abcdefgh", 8, 8, 0), "abcdefgh");
    check_text(string_of("abcdefghi", 9, 8, 0), "abcde\xe2\x80\xa6");
    // Half a unit at the end.
    check_text(string_of("a\0b", 3, 8, 1), "a");
}

static void what_is_no_string(void)
{
    heap h = string_of("abc", 3, 8, 0);
    h.length[0] = 7; // its reference is cut off
    check_text(h, "");
    h = string_of("abc", 3, 10, 0); // an array of int
    check_text(h, "");
    h = string_of("abc", 3, 8, 0);
    h.bytes[7] = 0x30; // a reference to nothing
    check_text(h, "");
    h = string_of("abc", 3, 8, 0);
    h.bytes[7] = 0x10; // to itself
    check_text(h, "");
    h = string_of("abc", 3, 8, 1);
    h.length[0] = 8; // without a coder
    check_text(h, "abc");
}

static void positions(void)
{
    uint8_t elements[32] = {[15] = 0x10, [31] = 0x20};
    uint64_t id[] = {0x10, 0x20}, where[] = {0, 0};
    uint32_t length[] = {0, 4}, index[] = {0, 2}, position[2];
    uint8_t kind[] = {SONDE_HPROF_INSTANCE, SONDE_HPROF_OBJECTS};
    struct sonde_hprof_ids ids = {id, 2, index, 1, 0x10, 8};
    sonde_hprof_positions(elements, 8, &ids, where, length, kind, position);
    CHECK(position[0] == 1 && position[1] == 3);
}

int main(void)
{
    RUN(each_encoding);
    RUN(what_is_no_string);
    RUN(positions);
    return 0;
}
