#include "hotspot/rewrite/class_filter.h"

void sonde_class_filter_set(sonde_class_filter *filter, const char *within, size_t length)
{
    filter->size = length < SONDE_CLASS_FILTER ? length : SONDE_CLASS_FILTER;
    memcpy(filter->wanted, within, filter->size);
    filter->wanted[filter->size] = 0;
    const char *last = strrchr(filter->wanted, '.');
    filter->owner_size = last ? (size_t)(last - filter->wanted) : 0;
}

// The class is it, or is inside.
static bool is_within(const sonde_class_filter *filter, const char *name, size_t size)
{
    if (!filter->size || size < filter->size || memcmp(name, filter->wanted, filter->size) != 0)
        return false;
    return size == filter->size || name[filter->size] == '.' || name[filter->size] == '$';
}

static bool is_owner(const sonde_class_filter *filter, const char *name, size_t size)
{
    return filter->owner_size && size == filter->owner_size &&
           memcmp(name, filter->wanted, size) == 0;
}

bool sonde_class_filter_wants(const sonde_class_filter *filter, const char *name)
{
    size_t size = strlen(name);
    return is_within(filter, name, size) || is_owner(filter, name, size);
}

bool sonde_class_filter_wants_method(const sonde_class_filter *filter,
                                     const sonde_class_method *method)
{
    char name[SONDE_CLASS_FILTER + 2];
    size_t size = method->class.size < sizeof name ? method->class.size : sizeof name;
    for (size_t i = 0; i < size; i++)
        name[i] = method->class.text[i] == '/' ? '.' : (char)method->class.text[i];
    if (is_within(filter, name, size))
        return true;
    return is_owner(filter, name, size) &&
           sonde_utf8_is(method->name, filter->wanted + filter->owner_size + 1);
}
