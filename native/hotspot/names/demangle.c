#include "hotspot/names/demangle.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
    const char *from;
    char *to;
    size_t length, room;
} text_t;

static void put(text_t *t, const char *what, size_t length)
{
    if (length > t->room - t->length)
        length = t->room - t->length;
    memcpy(t->to + t->length, what, length);
    t->length += length;
}

// Template arguments: which they are is left out.
static bool skip_arguments(text_t *t)
{
    int depth = 0;
    do {
        if (*t->from == 'I' || *t->from == 'N' || *t->from == 'X' || *t->from == 'L' ||
            *t->from == 'J')
            depth++;
        else if (*t->from == 'E')
            depth--;
        else if (*t->from >= '1' && *t->from <= '9') {
            size_t n = 0;
            while (*t->from >= '0' && *t->from <= '9')
                n = n * 10 + (size_t)(*t->from++ - '0');
            if (strnlen(t->from, n) < n)
                return false;
            t->from += n;
            continue;
        } else if (*t->from == 'S' || !*t->from) // what was named before: not followed
            return false;
        t->from++;
    } while (depth > 0);
    return true;
}

// One name with its length before it.
static bool name(text_t *t)
{
    size_t n = 0;
    while (*t->from >= '0' && *t->from <= '9' && n < 4096)
        n = n * 10 + (size_t)(*t->from++ - '0');
    if (!n || strnlen(t->from, n) < n)
        return false;
    put(t, t->from, n);
    t->from += n;
    if (*t->from == 'I')
        return skip_arguments(t);
    return true;
}

static bool nested(text_t *t)
{
    while (strchr("rVK", *t->from) && *t->from)
        t->from++;
    const char *last = NULL;
    size_t last_length = 0;
    for (bool first = true; *t->from && *t->from != 'E'; first = false) {
        if (!first)
            put(t, "::", 2);
        if (t->from[0] == 'C' || t->from[0] == 'D') { // constructors and destructors
            if (!last)
                return false;
            if (t->from[0] == 'D')
                put(t, "~", 1);
            put(t, last, last_length);
            t->from += 2;
            continue;
        }
        size_t before = t->length;
        if (!name(t))
            return false;
        last = t->to + before;
        last_length = t->length - before;
    }
    return *t->from == 'E';
}

size_t sonde_demangle(const char *symbol, char *to, size_t room)
{
    text_t t = {symbol, to, 0, room};
    if (strncmp(symbol, "_Z", 2) == 0) {
        t.from += 2;
        if (*t.from == 'L') // of one file only
            t.from++;
        bool ok = *t.from == 'N' ? (t.from++, nested(&t)) : name(&t);
        if (ok && t.length)
            return t.length;
        t.length = 0;
    }
    put(&t, symbol, strnlen(symbol, room));
    return t.length;
}
