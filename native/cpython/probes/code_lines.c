#include "cpython/probes/code_lines.h"

#include <string.h>

typedef struct {
    const uint8_t *at, *end;
} bytes;

// Six bits a byte, the seventh: more follow.
static unsigned long read_unsigned(bytes *b)
{
    unsigned long value = 0;
    for (unsigned shift = 0; b->at < b->end; shift += 6) {
        uint8_t byte = *b->at++;
        if (shift < 48)
            value |= (unsigned long)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

static long read_signed(bytes *b)
{
    unsigned long value = read_unsigned(b);
    return value & 1 ? -(long)(value >> 1) : (long)(value >> 1);
}

enum { // kinds of entries
    ONE_LINE_0 = 10,
    ONE_LINE_2 = 12,
    NO_COLUMNS = 13,
    LONG = 14,
    NO_LOCATION = 15,
};

bool sonde_table_has_line(const uint8_t *table, size_t size, long first_line, long line)
{
    bytes b = {table, table + size};
    long now = first_line;
    while (b.at < b.end) {
        unsigned kind = *b.at++ >> 3 & 15;
        if (kind == NO_LOCATION)
            continue;
        if (kind == NO_COLUMNS || kind == LONG)
            now += read_signed(&b);
        else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
            now += kind - ONE_LINE_0;
        if (kind == LONG) {
            read_unsigned(&b);
            read_unsigned(&b);
            read_unsigned(&b);
        } else if (kind != NO_COLUMNS) {
            size_t columns = kind >= ONE_LINE_0 ? 2 : 1;
            b.at += columns < (size_t)(b.end - b.at) ? columns : (size_t)(b.end - b.at);
        }
        if (now == line)
            return true;
    }
    return false;
}

bool sonde_code_has_line(PyCodeObject *code, long line)
{
    PyObject *table = code->co_linetable;
    if (!table || !PyBytes_CheckExact(table))
        return false;
    return sonde_table_has_line((const uint8_t *)PyBytes_AS_STRING(table),
                                (size_t)PyBytes_GET_SIZE(table), code->co_firstlineno, line);
}

bool sonde_code_is_of_file(PyCodeObject *code, const char *file, size_t length)
{
    PyObject *name = code->co_filename;
    if (!name || !PyUnicode_CheckExact(name) || !length)
        return false;
    Py_ssize_t size;
    const char *text;
    if (PyUnicode_IS_COMPACT_ASCII(name)) {
        text = (const char *)PyUnicode_1BYTE_DATA(name);
        size = PyUnicode_GET_LENGTH(name);
    } else if (!(text = PyUnicode_AsUTF8AndSize(name, &size))) { // which keeps it with the string
        PyErr_Clear();
        return false;
    }
    if ((size_t)size < length || memcmp(text + size - length, file, length) != 0)
        return false;
    return (size_t)size == length || file[0] == '/' || text[(size_t)size - length - 1] == '/';
}
