// Which lines of its file a code object has instructions of.
#ifndef SONDE_CPYTHON_CODE_LINES_H
#define SONDE_CPYTHON_CODE_LINES_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

// The same of a location table, which may be anything.
bool sonde_table_has_line(const uint8_t *table, size_t size, long first_line, long line);

bool sonde_code_has_line(PyCodeObject *code, long line);

// Whether `file` is the end of the code's file name, from a separator on, or all of it.
bool sonde_code_is_of_file(PyCodeObject *code, const char *file, size_t length);

#endif
