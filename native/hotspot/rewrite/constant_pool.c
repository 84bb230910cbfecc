#include "hotspot/rewrite/constant_pool.h"

#define MAX_CONSTANTS 65535u

// Of what follows the tag; 0: unknown. Texts have their own.
static size_t size_of(uint32_t tag)
{
    switch (tag) {
    case 7:  // class
    case 8:  // string
    case 16: // type of a method
    case 19: // module
    case 20: // package
        return 2;
    case 15: // handle of a method
        return 3;
    case 3:  // int
    case 4:  // float
    case 9:  // field
    case 10: // method
    case 11: // method of an interface
    case 12: // name and type
    case 17: // dynamic constant
    case 18: // dynamic call
        return 4;
    case 5: // long
    case 6: // double
        return 8;
    default:
        return 0;
    }
}

bool sonde_pool_read(sonde_constant_pool *pool, sonde_reader *file)
{
    *pool = (sonde_constant_pool){.data = file->data, .begins = file->at};
    pool->count = sonde_read_u2(file);
    if (!pool->count || !(pool->at = calloc(pool->count, sizeof *pool->at)))
        return false;
    for (uint32_t i = 1; i < pool->count; i++) {
        pool->at[i] = (uint32_t)file->at;
        uint32_t tag = sonde_read_u1(file);
        size_t size = tag == SONDE_CONSTANT_UTF8 ? sonde_read_u2(file) : size_of(tag);
        if (!size && tag != SONDE_CONSTANT_UTF8)
            return false;
        sonde_read_bytes(file, size);
        if (file->failed)
            return false;
        i += tag == 5 || tag == 6; // these take two indices
    }
    pool->ends = file->at;
    return true;
}

void sonde_pool_free(sonde_constant_pool *pool)
{
    free(pool->at);
    pool->at = NULL;
    sonde_output_free(&pool->more);
}

// What follows the tag, NULL if it is another. Its size was checked.
static const uint8_t *constant(const sonde_constant_pool *pool, uint32_t index, uint32_t tag)
{
    if (index >= pool->count || !pool->at[index] || pool->data[pool->at[index]] != tag)
        return NULL;
    return pool->data + pool->at[index] + 1;
}

static uint32_t u2(const uint8_t *bytes) { return (uint32_t)bytes[0] << 8 | bytes[1]; }

sonde_utf8 sonde_pool_utf8(const sonde_constant_pool *pool, uint32_t index)
{
    const uint8_t *text = constant(pool, index, SONDE_CONSTANT_UTF8);
    return text ? (sonde_utf8){text + 2, u2(text)} : (sonde_utf8){(const uint8_t *)"", 0};
}

sonde_utf8 sonde_pool_class(const sonde_constant_pool *pool, uint32_t index)
{
    const uint8_t *class = constant(pool, index, SONDE_CONSTANT_CLASS);
    return sonde_pool_utf8(pool, class ? u2(class) : 0);
}

static const uint8_t *method_at(const sonde_constant_pool *pool, uint32_t index)
{
    const uint8_t *method = constant(pool, index, SONDE_CONSTANT_METHOD);
    return method ? method : constant(pool, index, SONDE_CONSTANT_INTERFACE_METHOD);
}

static sonde_utf8 name_or_type(const sonde_constant_pool *pool, uint32_t index, size_t at)
{
    const uint8_t *method = method_at(pool, index);
    const uint8_t *both =
        method ? constant(pool, u2(method + 2), SONDE_CONSTANT_NAME_AND_TYPE) : NULL;
    return sonde_pool_utf8(pool, both ? u2(both + at) : 0);
}

sonde_utf8 sonde_pool_method_name(const sonde_constant_pool *pool, uint32_t index)
{
    return name_or_type(pool, index, 0);
}

sonde_utf8 sonde_pool_method_descriptor(const sonde_constant_pool *pool, uint32_t index)
{
    return name_or_type(pool, index, 2);
}

sonde_utf8 sonde_pool_method_class(const sonde_constant_pool *pool, uint32_t index)
{
    const uint8_t *method = method_at(pool, index);
    return sonde_pool_class(pool, method ? u2(method) : 0);
}

// ---- what is added

static uint32_t add(sonde_constant_pool *pool, uint32_t tag)
{
    uint32_t index = pool->count + pool->added;
    if (index >= MAX_CONSTANTS) {
        pool->full = true;
        return 0;
    }
    pool->added++;
    sonde_append_u1(&pool->more, tag);
    return index;
}

uint32_t sonde_pool_add_utf8(sonde_constant_pool *pool, const char *text)
{
    uint32_t index = add(pool, SONDE_CONSTANT_UTF8);
    if (index) {
        sonde_append_u2(&pool->more, (uint32_t)strlen(text));
        sonde_append(&pool->more, text, strlen(text));
    }
    return index;
}

uint32_t sonde_pool_add_integer(sonde_constant_pool *pool, uint32_t value)
{
    uint32_t index = add(pool, SONDE_CONSTANT_INTEGER);
    if (index)
        sonde_append_u4(&pool->more, value);
    return index;
}

uint32_t sonde_pool_add_long(sonde_constant_pool *pool, uint64_t value)
{
    uint32_t index = add(pool, SONDE_CONSTANT_LONG);
    if (index) {
        pool->added++; // it takes the place of two
        sonde_append_u4(&pool->more, (uint32_t)(value >> 32));
        sonde_append_u4(&pool->more, (uint32_t)value);
    }
    return index;
}

uint32_t sonde_pool_add_class(sonde_constant_pool *pool, const char *name)
{
    uint32_t text = sonde_pool_add_utf8(pool, name);
    uint32_t index = add(pool, SONDE_CONSTANT_CLASS);
    if (index)
        sonde_append_u2(&pool->more, text);
    return index;
}

static uint32_t add_member(sonde_constant_pool *pool, uint32_t tag, uint32_t class,
                           const char *name, const char *type)
{
    uint32_t name_index = sonde_pool_add_utf8(pool, name);
    uint32_t type_index = sonde_pool_add_utf8(pool, type);
    uint32_t both = add(pool, SONDE_CONSTANT_NAME_AND_TYPE);
    if (both) {
        sonde_append_u2(&pool->more, name_index);
        sonde_append_u2(&pool->more, type_index);
    }
    uint32_t index = add(pool, tag);
    if (index) {
        sonde_append_u2(&pool->more, class);
        sonde_append_u2(&pool->more, both);
    }
    return index;
}

uint32_t sonde_pool_add_method(sonde_constant_pool *pool, uint32_t class, const char *name,
                               const char *descriptor)
{
    return add_member(pool, SONDE_CONSTANT_METHOD, class, name, descriptor);
}

uint32_t sonde_pool_add_field(sonde_constant_pool *pool, uint32_t class, const char *name,
                              const char *type)
{
    return add_member(pool, SONDE_CONSTANT_FIELD, class, name, type);
}

void sonde_pool_append(const sonde_constant_pool *pool, sonde_output *to)
{
    sonde_append_u2(to, pool->count + pool->added);
    sonde_append(to, pool->data + pool->begins + 2, pool->ends - pool->begins - 2);
    sonde_append(to, pool->more.data, pool->more.size);
    to->failed |= pool->more.failed;
}
