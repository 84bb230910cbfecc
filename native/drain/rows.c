#include "drain/rows.h"

#include <stdlib.h>

enum { VALUES = 0, DIFFERENCES = 1 };

bool sonde_rows_reserve(sonde_rows *rows, size_t n)
{
    if (rows->room - rows->count >= n)
        return true;
    size_t room = rows->room ? rows->room * 2 : 1024;
    while (room - rows->count < n)
        room *= 2;
    sonde_row *larger = realloc(rows->rows, room * sizeof *larger);
    if (!larger)
        return false;
    rows->rows = larger;
    rows->room = room;
    return true;
}

void sonde_rows_add(sonde_rows *rows, const sonde_row *row) { rows->rows[rows->count++] = *row; }

// Zigzag, then seven bits a byte, lowest first.
static uint8_t *put_number(uint8_t *out, int64_t number)
{
    uint64_t value = (uint64_t)number << 1 ^ (uint64_t)(number < 0 ? -1 : 0);
    while (value >= 128) {
        *out++ = (uint8_t)(value & 127) | 128;
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *put_column(uint8_t *out, const sonde_row *rows, size_t n, int column, int order)
{
    // Differences begin with the second row; the first takes the base to stay out of the way.
    size_t first = order == DIFFERENCES;
    int64_t base = 0, highest = 0;
    for (size_t i = first; i < n; i++) {
        int64_t value = rows[i].column[column] - (first ? rows[i - 1].column[column] : 0);
        if (i == first || value < base)
            base = value;
        if (i == first || value > highest)
            highest = value;
    }
    uint64_t span = (uint64_t)highest - (uint64_t)base;
    uint32_t width = 0;
    while (width < 8 && span >> (8 * width))
        width++;
    *out++ = (uint8_t)(order << 4 | (int)width);
    if (first)
        out = put_number(out, rows[0].column[column]);
    out = put_number(out, base);
    for (size_t i = 0; width && i < n; i++) {
        uint64_t value = (uint64_t)rows[i].column[column] - (uint64_t)base;
        if (first)
            value = i ? value - (uint64_t)rows[i - 1].column[column] : 0;
        for (uint32_t plane = 0; plane < width; plane++)
            out[plane * n + i] = (uint8_t)(value >> (8 * plane));
    }
    return out + width * n;
}

size_t sonde_rows_pack(sonde_rows *rows, size_t most, uint8_t *out, size_t *count)
{
    size_t n = rows->count - rows->packed;
    n = n < most ? n : most;
    *count = n;
    if (!n) {
        rows->count = rows->packed = 0;
        return 0;
    }
    uint8_t *end = out;
    for (int column = 0; column < SONDE_ROW_COLUMNS; column++)
        end = put_column(end, rows->rows + rows->packed, n, column,
                         column == SONDE_ROW_TIME ? DIFFERENCES : VALUES);
    rows->packed += n;
    return (size_t)(end - out);
}
