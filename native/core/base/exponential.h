// Random numbers of an exponential distribution: distances between events that come at random.
#ifndef SONDE_CORE_EXPONENTIAL_H
#define SONDE_CORE_EXPONENTIAL_H

#include <stdint.h>

// The natural logarithm of a number in (0, 1].
double sonde_ln(double x);

// With mean 1. `random` is the generator's state, not 0.
double sonde_exponential(uint64_t *random);

#endif
