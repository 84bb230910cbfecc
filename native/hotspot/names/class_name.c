#include "hotspot/names/demangle.h"

#include <string.h>

// `Main$$Lambda$14` and `Main$$Lambda/0x…` are the same place in the source in every run; numbers
// are counted up in the order of linking.
static const char lambda[] = "$$Lambda";

size_t sonde_class_name(const char *signature, char *to, size_t room)
{
    const char *end = signature + strlen(signature);
    if (*signature == 'L') {
        signature++;
        if (end > signature && end[-1] == ';')
            end--;
    }
    // What distinguishes hidden classes of one name; 17 writes a dot, the class file's own name has
    // none.
    const char *suffix = memchr(signature, '.', (size_t)(end - signature));
    if (!suffix)
        suffix = strstr(signature, "/0x");
    if (suffix)
        end = suffix;
    const char *number = strstr(signature, lambda);
    if (number && number < end)
        end = number + sizeof lambda - 1;
    size_t length = 0;
    for (; signature < end && length < room; signature++)
        to[length++] = *signature == '/' ? '.' : *signature;
    return length;
}
