#include "core/base/exponential.h"

#include <string.h>

// That of a float's mantissa by the series of the inverse hyperbolic tangent, which is exact to
// 1e-8. The library's own would be one more to link.
double sonde_ln(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    double z = (mantissa - 1) / (mantissa + 1), square = z * z, term = z, sum = 0;
    for (int i = 1; i < 18; i += 2, term *= square)
        sum += term / i;
    return 2 * sum + exponent * 0.6931471805599453;
}

double sonde_exponential(uint64_t *random)
{
    uint64_t x = *random; // xorshift64
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *random = x;
    double uniform = (double)((x >> 11) + 1) * (1.0 / 9007199254740993.0);
    return -sonde_ln(uniform);
}
