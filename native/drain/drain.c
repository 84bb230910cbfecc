// What the recorder calls beside sonde_drain_locks().
#include "drain/locks.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT sonde_rows *sonde_rows_new(void) { return calloc(1, sizeof(sonde_rows)); }

EXPORT void sonde_rows_free(sonde_rows *rows)
{
    if (rows)
        free(rows->rows);
    free(rows);
}

EXPORT int sonde_rows_append(sonde_rows *rows, int64_t thread, int64_t time, int64_t lock,
                             int64_t sequence, int64_t type, int64_t context, int64_t span,
                             int64_t task)
{
    if (!sonde_rows_reserve(rows, 1))
        return 0;
    sonde_rows_add(rows, &(sonde_row){{thread, time, lock, sequence, type, context, span, task}});
    return 1;
}

EXPORT size_t sonde_rows_next(sonde_rows *rows, size_t most, uint8_t *out, size_t room,
                              size_t *count)
{
    *count = 0;
    if (room < SONDE_ROW_COLUMNS * SONDE_COLUMN_BYTES(most))
        return 0;
    return sonde_rows_pack(rows, most, out, count);
}

EXPORT void sonde_tables_forget(sonde_process_tables *tables)
{
    sonde_map_clear(&tables->frames);
    sonde_map_clear(&tables->locks);
}

// What there is no memory for stays unknown; then the recorder takes the events itself.
EXPORT void sonde_tables_add_frame(sonde_process_tables *tables, int32_t caller, uint64_t word,
                                   int32_t context)
{
    sonde_map_set(&tables->frames, (uint32_t)caller, word, context, 0);
}

EXPORT void sonde_tables_add_lock(sonde_process_tables *tables, uint64_t lock, uint64_t kind,
                                  int32_t row, uint32_t flags)
{
    sonde_map_set(&tables->locks, lock, kind, row, flags);
}
