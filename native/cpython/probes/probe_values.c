#define _GNU_SOURCE
#include "cpython/probes/probe_values.h"

#include "core/base/clock.h"
#include "core/session/records.h"
#include "cpython/objects/block_types.h"
#include "cpython/walk/walk.h"

#include <string.h>

// As much of it as there is room for, in whole characters. Surrogates stand alone in no UTF-8.
static uint32_t encode(PyObject *string, char *out, size_t room)
{
    size_t used = 0;
    int kind = PyUnicode_KIND(string);
    const void *data = PyUnicode_DATA(string);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(string); i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c >= 0xd800 && c < 0xe000)
            c = '?';
        size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (used + bytes > room)
            break;
        if (bytes == 1) {
            out[used++] = (char)c;
            continue;
        }
        static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
        out[used] = (char)(first[bytes] | c >> 6 * (bytes - 1));
        for (size_t at = 1; at < bytes; at++)
            out[used + at] = (char)(0x80 | (c >> 6 * (bytes - 1 - at) & 0x3f));
        used += bytes;
    }
    return (uint32_t)used;
}

static void describe(PyObject *value, sonde_rec_probe *out)
{
    if (value == Py_None) {
        out->rec.state = SONDE_VALUE_NONE;
    } else if (PyBool_Check(value)) {
        out->rec.state = SONDE_VALUE_BOOLEAN;
        out->number = value == Py_True;
    } else if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        out->rec.state = overflow ? SONDE_VALUE_OTHER : SONDE_VALUE_INTEGER;
        out->number = overflow ? 0 : (uint64_t)number;
    } else if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        out->rec.state = SONDE_VALUE_FLOAT;
        memcpy(&out->number, &number, sizeof number);
    } else if (PyUnicode_CheckExact(value)) {
        out->rec.state = SONDE_VALUE_TEXT;
        out->text_length = encode(value, out->text, sizeof out->text);
    }
}

// Values fill no more than half of the ring: samples and events of locks have the rest.
static bool has_room(const sonde_thread *thread)
{
    const sonde_ring *ring = &thread->ring;
    uint64_t tail = atomic_load_explicit(&ring->slot->tail, memory_order_relaxed);
    return ring->head - tail < ring->size / 2;
}

bool sonde_probe_write(sonde_thread *thread, uint32_t serial, PyObject *value)
{
    if (!has_room(thread))
        return false;
    sonde_rec_probe out = {.probe = serial};
    describe(value, &out);
    out.type = sonde_report_type(thread, Py_TYPE(value));
    sonde_event stack = {0};
    uint32_t depth = sonde_cpython_walk_guarded(thread, &stack);
    out.rec.flags = stack.flags;
    out.span = stack.span;
    out.interpreter = stack.interpreter;
    out.time = sonde_now();
    return out.type && sonde_write_probe(thread, depth, &out);
}
