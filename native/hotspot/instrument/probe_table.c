#define _GNU_SOURCE
#include "hotspot/instrument/probe_table.h"

static _Atomic(sonde_probe_order *) orders[SONDE_MAX_PROBES];

static bool parse_index(sonde_probe_step *step)
{
    char *end;
    long value = strtol(step->text, &end, 10);
    step->index = (int32_t)value;
    return end != step->text && !*end && value == step->index;
}

static bool parse(sonde_probe_order *order, const uint8_t *steps, size_t size)
{
    sonde_reader from = {steps, size, 0, false};
    while (from.at < from.size) {
        if (order->count == SONDE_MAX_PROBE_STEPS)
            return false;
        sonde_probe_step *step = &order->steps[order->count];
        step->what = (uint8_t)sonde_read_u1(&from);
        size_t length = sonde_read_u1(&from);
        const uint8_t *text = sonde_read_bytes(&from, length);
        if (from.failed || (order->count == 0) != (step->what == SONDE_STEP_NAME))
            return false;
        memcpy(step->text, text, length);
        step->text[length] = 0;
        if (step->what == SONDE_STEP_INDEX && !parse_index(step))
            return false;
        order->count++;
    }
    return order->count;
}

static sonde_probe_order *copy(sonde_probe *probe, uint32_t serial)
{
    sonde_probe_order *order = calloc(1, sizeof *order);
    size_t file = probe->file_length, steps = probe->steps_length;
    if (!order || file > SONDE_PROBE_TEXT || steps > SONDE_PROBE_TEXT - file) {
        free(order);
        return NULL;
    }
    order->serial = serial;
    order->line = probe->line;
    order->every = probe->every ? probe->every : 1;
    memcpy(order->file, probe->text, file);
    if (parse(order, probe->text + file, steps))
        return order;
    atomic_store(&probe->trouble, SONDE_PROBE_INVALID);
    free(order);
    return NULL;
}

uint32_t sonde_probe_table_read(void)
{
    uint32_t changed = 0;
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++) {
        sonde_probe *probe = &sonde.area->probes[i];
        uint32_t serial = atomic_load(&probe->serial);
        sonde_probe_order *known = atomic_load(&orders[i]);
        if ((known ? known->serial : 0) == serial)
            continue;
        atomic_store(&orders[i], serial ? copy(probe, serial) : NULL);
        changed |= 1u << i;
    }
    return changed;
}

void sonde_probe_table_forget(void)
{
    for (uint32_t i = 0; i < SONDE_MAX_PROBES; i++)
        atomic_store(&orders[i], NULL);
}

const sonde_probe_order *sonde_probe_at(uint32_t place)
{
    return place < SONDE_MAX_PROBES ? atomic_load(&orders[place]) : NULL;
}

sonde_probe *sonde_probe_counts(uint32_t place, const sonde_probe_order *order)
{
    sonde_probe *probe = sonde.area ? &sonde.area->probes[place] : NULL;
    return probe && atomic_load(&probe->serial) == order->serial ? probe : NULL;
}

bool sonde_probe_is_in(const sonde_probe_order *order, const char *path)
{
    const char *file = order->file;
    size_t wanted = strlen(file), has = strlen(path);
    // One of them is the end of the other: people give a part of the package, or a source root.
    const char *longer = wanted > has ? file : path;
    size_t shorter = wanted > has ? has : wanted, more = wanted > has ? wanted - has : has - wanted;
    return memcmp(longer + more, wanted > has ? path : file, shorter) == 0 &&
           (!more || longer[more - 1] == '/');
}
