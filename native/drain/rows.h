// Rows of the table of lock events that wait to be written, and how the file has them: the same
// bytes as src/sonde/recording/format/encode.py makes.
#ifndef SONDE_ROWS_H
#define SONDE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The columns of the table, see src/sonde/recording/format/schema.py.
enum {
    SONDE_ROW_THREAD,
    SONDE_ROW_TIME,
    SONDE_ROW_LOCK,
    SONDE_ROW_SEQUENCE,
    SONDE_ROW_TYPE,
    SONDE_ROW_CONTEXT,
    SONDE_ROW_SPAN,
    SONDE_ROW_TASK,
    SONDE_ROW_COLUMNS,
};

typedef struct {
    int64_t column[SONDE_ROW_COLUMNS];
} sonde_row;

typedef struct {
    sonde_row *rows;
    size_t room, count;
    size_t packed; // of them, how many were handed over
} sonde_rows;

// What one column of n rows may take at most: its tag, two numbers, and its values.
#define SONDE_COLUMN_BYTES(n) (1 + 2 * 10 + 8 * (size_t)(n))

// Room for n more; false if there is no memory.
bool sonde_rows_reserve(sonde_rows *rows, size_t n);
void sonde_rows_add(sonde_rows *rows, const sonde_row *row); // after sonde_rows_reserve()
// The next rows, at most `most`, in the bytes of a block, for which `out` has the room of
// SONDE_ROW_COLUMNS columns; `count`: how many these are, 0 if there are no more.
size_t sonde_rows_pack(sonde_rows *rows, size_t most, uint8_t *out, size_t *count);

#endif
