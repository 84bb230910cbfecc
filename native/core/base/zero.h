// Clearing a large static table in a forked child: whole pages are given back instead of copied
// from the parent and overwritten.
#ifndef SONDE_CORE_ZERO_H
#define SONDE_CORE_ZERO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define SONDE_PAGE 4096u

// `at` is a table without an initial value: pages inside of it are anonymous memory.
static inline void sonde_zero(void *at, size_t size)
{
    uintptr_t from = (uintptr_t)at, to = from + size;
    uintptr_t first = (from + SONDE_PAGE - 1) & ~(uintptr_t)(SONDE_PAGE - 1);
    uintptr_t last = to & ~(uintptr_t)(SONDE_PAGE - 1);
    if (first >= last || madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        memset(at, 0, size);
        return;
    }
    memset(at, 0, first - from);
    memset((void *)last, 0, to - last);
}

#endif
