// A library without Python that allocates memory, which another of its functions frees.
#include <stdlib.h>
#include <string.h>

void *buffer_new(size_t size)
{
    void *made = malloc(size);
    if (made)
        memset(made, 1, size);
    return made;
}

void buffer_free(void *made) { free(made); }
