#include "cpython/objects/countdown.h"

#include "core/base/clock.h"
#include "core/base/exponential.h"

_Thread_local sonde_countdown sonde_countdown_mine;

static double means[SONDE_COUNTDOWNS] = {1 << 19, 1 << 19};

void sonde_countdown_set_mean(int which, double mean) { means[which] = mean; }

double sonde_countdown_mean(int which) { return means[which]; }

void sonde_countdown_forked(void) { sonde_countdown_mine = (sonde_countdown){0}; }

static int64_t draw(sonde_countdown *mine, int which)
{
    return (int64_t)(sonde_exponential(&mine->random) * means[which]) + 1;
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
