#include "hotspot/instrument/flow_classes.h"

#define MAX_WITHIN 512
static char wanted[MAX_WITHIN + 1];
static size_t wanted_size;
static size_t owner_size; // of what a method's class would be called

void sonde_flow_classes_set(const char *within, size_t length)
{
    wanted_size = length < MAX_WITHIN ? length : MAX_WITHIN;
    memcpy(wanted, within, wanted_size);
    wanted[wanted_size] = 0;
    const char *last = strrchr(wanted, '.');
    owner_size = last ? (size_t)(last - wanted) : 0;
}

// The class is it, or is inside.
static bool is_within(const char *name, size_t size)
{
    if (!wanted_size || size < wanted_size || memcmp(name, wanted, wanted_size) != 0)
        return false;
    return size == wanted_size || name[wanted_size] == '.' || name[wanted_size] == '$';
}

bool sonde_flow_wants_class(const char *name)
{
    size_t size = strlen(name);
    return is_within(name, size) ||
           (owner_size && size == owner_size && memcmp(name, wanted, size) == 0);
}

bool sonde_flow_wants_method(const sonde_class_method *method)
{
    char name[MAX_WITHIN + 2];
    size_t size = method->class.size < sizeof name ? method->class.size : sizeof name;
    for (size_t i = 0; i < size; i++)
        name[i] = method->class.text[i] == '/' ? '.' : (char)method->class.text[i];
    if (is_within(name, size))
        return true;
    return owner_size && size == owner_size && memcmp(name, wanted, size) == 0 &&
           sonde_utf8_is(method->name, wanted + owner_size + 1);
}
