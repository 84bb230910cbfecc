#include "hotspot/instrument/method_numbers.h"

#include "core/base/hash.h"

#include <pthread.h>
#include <stdatomic.h>

#define BITS 18
#define MAX_METHODS (1u << (BITS - 1))

static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(jmethodID) methods[MAX_METHODS];
static _Atomic uint32_t count;
static uint32_t places[1u << BITS]; // number + 1, by method

uint32_t sonde_method_number(jmethodID method)
{
    pthread_mutex_lock(&numbering);
    uint32_t known = atomic_load(&count);
    uint32_t place = (uint32_t)sonde_hash_place((uint64_t)(uintptr_t)method, BITS);
    while (places[place] && atomic_load(&methods[places[place] - 1]) != method)
        place = (place + 1) & ((1u << BITS) - 1);
    uint32_t number = places[place] - 1; // SONDE_NO_NUMBER without one
    if (number == SONDE_NO_NUMBER && known < MAX_METHODS) {
        number = known;
        atomic_store(&methods[number], method);
        atomic_store(&count, known + 1);
        places[place] = number + 1;
    }
    pthread_mutex_unlock(&numbering);
    return number;
}

jmethodID sonde_method_numbered(uint32_t number)
{
    return number < atomic_load(&count) ? atomic_load(&methods[number]) : NULL;
}
