// The constants of a class file, and those that are added to them.
#ifndef SONDE_HOTSPOT_CONSTANT_POOL_H
#define SONDE_HOTSPOT_CONSTANT_POOL_H

#include "hotspot/rewrite/bytes.h"

enum {
    SONDE_CONSTANT_UTF8 = 1,
    SONDE_CONSTANT_INTEGER = 3,
    SONDE_CONSTANT_LONG = 5,
    SONDE_CONSTANT_CLASS = 7,
    SONDE_CONSTANT_FIELD = 9,
    SONDE_CONSTANT_METHOD = 10,
    SONDE_CONSTANT_INTERFACE_METHOD = 11,
    SONDE_CONSTANT_NAME_AND_TYPE = 12,
};

typedef struct {
    const uint8_t *text;
    size_t size;
} sonde_utf8;

typedef struct {
    const uint8_t *data; // of the class file
    uint32_t *at;        // offset of each constant's tag in it, 0: there is none
    uint32_t count;      // of the class file, with the one that is not there
    size_t begins, ends; // in the class file
    uint32_t added;      // constants, appended to:
    sonde_output more;
    bool full; // there are more than a class file can have
} sonde_constant_pool;

// Reads it from where the class file has it. False: it is not understood. To be freed in any case.
bool sonde_pool_read(sonde_constant_pool *pool, sonde_reader *class_file);
void sonde_pool_free(sonde_constant_pool *pool);

// The text at that index, with a size of 0 if there is none. Only of what was read.
sonde_utf8 sonde_pool_utf8(const sonde_constant_pool *pool, uint32_t index);
// The name of the class at that index.
sonde_utf8 sonde_pool_class(const sonde_constant_pool *pool, uint32_t index);
// The name, descriptor and class of the method at that index.
sonde_utf8 sonde_pool_method_name(const sonde_constant_pool *pool, uint32_t index);
sonde_utf8 sonde_pool_method_descriptor(const sonde_constant_pool *pool, uint32_t index);
sonde_utf8 sonde_pool_method_class(const sonde_constant_pool *pool, uint32_t index);
static inline bool sonde_utf8_is(sonde_utf8 text, const char *other)
{
    return text.size == strlen(other) && memcmp(text.text, other, text.size) == 0;
}

// Each adds a constant and returns its index.
uint32_t sonde_pool_add_utf8(sonde_constant_pool *pool, const char *text);
uint32_t sonde_pool_add_integer(sonde_constant_pool *pool, uint32_t value);
uint32_t sonde_pool_add_long(sonde_constant_pool *pool, uint64_t value);
uint32_t sonde_pool_add_class(sonde_constant_pool *pool, const char *name);
// A method of the class at that index, and a field.
uint32_t sonde_pool_add_method(sonde_constant_pool *pool, uint32_t class, const char *name,
                               const char *descriptor);
uint32_t sonde_pool_add_field(sonde_constant_pool *pool, uint32_t class, const char *name,
                              const char *type);

// The whole, with its count in front.
void sonde_pool_append(const sonde_constant_pool *pool, sonde_output *to);

#endif
