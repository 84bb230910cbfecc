#define _GNU_SOURCE
#include "cpython/heap/object_value.h"

#include "cpython/heap/stream.h"

#define MAX_TEXT_BYTES 200u
#define MAX_CLASS_BYTES 300u

// As good as any for distinguishing values, and about as fast as memory.
static uint64_t digest(const void *data, size_t bytes)
{
    const char *at = data;
    uint64_t hash = bytes * 0x9e3779b97f4a7c15u, word;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, at, bytes);
    hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

static void write_value(uint32_t ref, uint16_t form, size_t length, uint64_t number,
                        const void *text, size_t bytes)
{
    heap_value *value = heap_room(HEAP_VALUES, sizeof *value);
    uint16_t shown = (uint16_t)(bytes < MAX_TEXT_BYTES ? bytes : MAX_TEXT_BYTES);
    *value = (heap_value){
        .object = ref,
        .length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX,
        .digest = {(uint32_t)number, (uint32_t)(number >> 32)},
        .text_bytes = shown,
        .form = form,
    };
    if (shown)
        memcpy(heap_room(HEAP_TEXTS, shown), text, shown);
}

static void write_text(PyObject *object, uint32_t ref)
{
    PyASCIIObject *text = (PyASCIIObject *)object;
#if PY_VERSION_HEX < 0x030C0000
    if (!PyUnicode_IS_READY(object))
        return;
#endif
    const void *data = PyUnicode_DATA(object);
    if (!data)
        return;
    size_t length = (size_t)text->length, bytes = length * text->state.kind;
    write_value(ref, text->state.kind, length, digest(data, bytes), data, bytes);
}

// Of numbers of up to two digits of 30 bits.
static bool int_value(PyObject *object, int64_t *value)
{
#if PY_VERSION_HEX >= 0x030C0000
    uintptr_t tag = ((PyLongObject *)object)->long_value.lv_tag;
    const digit *digits = ((PyLongObject *)object)->long_value.ob_digit;
    size_t count = tag >> 3;
    bool negative = (tag & 3) == 2;
#else
    Py_ssize_t size = Py_SIZE(object);
    const digit *digits = ((PyLongObject *)object)->ob_digit;
    size_t count = (size_t)Py_ABS(size);
    bool negative = size < 0;
#endif
    if (count > 2)
        return false;
    int64_t found = count ? (int64_t)digits[0] : 0;
    if (count == 2)
        found |= (int64_t)digits[1] << PyLong_SHIFT;
    *value = negative ? -found : found;
    return true;
}

void sonde_heap_write_value(PyObject *object, uint32_t ref)
{
    int64_t number;
    if (PyUnicode_Check(object))
        write_text(object, ref);
    else if (PyBytes_Check(object)) {
        const char *data = PyBytes_AS_STRING(object);
        size_t bytes = (size_t)Py_SIZE(object);
        write_value(ref, VALUE_BYTES, bytes, digest(data, bytes), data, bytes);
    } else if (PyLong_CheckExact(object)) {
        if (int_value(object, &number))
            write_value(ref, VALUE_INT, 0, (uint64_t)number, NULL, 0);
    } else if (PyFloat_CheckExact(object)) {
        uint64_t bits;
        memcpy(&bits, &((PyFloatObject *)object)->ob_fval, sizeof bits);
        write_value(ref, VALUE_FLOAT, 0, bits, NULL, 0);
    }
}

static PyObject *class_module(PyTypeObject *type)
{
    PyDictObject *dict = (PyDictObject *)heap_attributes_of((PyObject *)type).dict;
    if (!dict || dict->ma_values || dict->ma_keys->dk_kind == DICT_KEYS_GENERAL)
        return NULL;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(dict->ma_keys);
    for (Py_ssize_t i = 0; i < dict->ma_keys->dk_nentries; i++) {
        PyObject *key = entries[i].me_key;
        if (entries[i].me_value && key && PyUnicode_IS_COMPACT_ASCII(key) &&
            PyUnicode_GET_LENGTH(key) == 10 && !memcmp(PyUnicode_1BYTE_DATA(key), "__module__", 10))
            return PyUnicode_Check(entries[i].me_value) ? entries[i].me_value : NULL;
    }
    return NULL;
}

static size_t append(char *to, size_t used, PyObject *text)
{
    if (!text || !PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
        return used;
    size_t length = (size_t)PyUnicode_GET_LENGTH(text), room = MAX_CLASS_BYTES - used;
    length = length < room ? length : room;
    memcpy(to + used, PyUnicode_1BYTE_DATA(text), length);
    return used + length;
}

// `module.qualified name`; of a class written in C the name it has there.
void sonde_heap_write_class(PyTypeObject *type, uint32_t ref)
{
    char name[MAX_CLASS_BYTES];
    size_t used = 0;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        PyObject *qualified = ((PyHeapTypeObject *)type)->ht_qualname;
        PyObject *module = class_module(type);
        bool is_ascii =
            qualified && PyUnicode_Check(qualified) && PyUnicode_IS_COMPACT_ASCII(qualified);
        bool is_builtin = module && PyUnicode_IS_COMPACT_ASCII(module) &&
                          !strcmp((char *)PyUnicode_1BYTE_DATA(module), "builtins");
        if (is_ascii && !is_builtin && (used = append(name, 0, module)) && used < MAX_CLASS_BYTES)
            name[used++] = '.';
        if (is_ascii)
            used = append(name, used, qualified);
    }
    if (!used && type->tp_name) {
        used = strnlen(type->tp_name, MAX_CLASS_BYTES);
        memcpy(name, type->tp_name, used);
    }
    uint16_t length = (uint16_t)used;
    char *to = heap_room(HEAP_TYPES, (uint32_t)(sizeof ref + sizeof length + used));
    memcpy(to, &ref, sizeof ref);
    memcpy(to + sizeof ref, &length, sizeof length);
    memcpy(to + sizeof ref + sizeof length, name, used);
}
