#include "cpython/objects/countdown.h"

#include "core/base/clock.h"

#include <string.h>

_Thread_local sonde_countdown sonde_countdown_mine;

static double means[SONDE_COUNTDOWNS] = {1 << 19, 1 << 19};

void sonde_countdown_set_mean(int which, double mean) { means[which] = mean; }

double sonde_countdown_mean(int which) { return means[which]; }

void sonde_countdown_forked(void) { sonde_countdown_mine = (sonde_countdown){0}; }

// The natural logarithm of a number in (0, 1]: that of a float's mantissa by the series of the
// inverse hyperbolic tangent, which is exact to 1e-8. The library's own would be one more to link.
static double ln(double x)
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

static int64_t draw(sonde_countdown *mine, int which)
{
    uint64_t x = mine->random; // xorshift64
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    mine->random = x;
    double uniform = (double)((x >> 11) + 1) * (1.0 / 9007199254740993.0);
    return (int64_t)(-ln(uniform) * means[which]) + 1;
}

void sonde_countdown_look_early(const void *pending)
{
    sonde_countdown *mine = &sonde_countdown_mine;
    mine->pending = pending;
    if (mine->early)
        return;
    mine->early = true;
    for (int i = 0; i < SONDE_COUNTDOWNS; i++) {
        mine->kept[i] = mine->left[i];
        mine->left[i] = -1;
    }
}

bool sonde_countdown_ended(int which, size_t size, const void **pending)
{
    sonde_countdown *mine = &sonde_countdown_mine;
    *pending = NULL;
    if (!mine->random) {
        mine->random = (sonde_now() ^ (uintptr_t)mine) | 1;
        for (int i = 0; i < SONDE_COUNTDOWNS; i++)
            mine->left[i] = draw(mine, i);
        mine->left[which] -= (int64_t)size;
    } else if (mine->early) {
        mine->early = false;
        for (int i = 0; i < SONDE_COUNTDOWNS; i++)
            mine->left[i] = mine->kept[i];
        mine->left[which] -= (int64_t)size;
        *pending = mine->pending;
        mine->pending = NULL;
    }
    if (mine->left[which] >= 0)
        return false;
    mine->left[which] = draw(mine, which);
    return true;
}
