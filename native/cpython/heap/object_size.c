#define _GNU_SOURCE
#include "cpython/heap/object_size.h"

static size_t text_bytes(PyObject *object)
{
    PyASCIIObject *text = (PyASCIIObject *)object;
    size_t length = (size_t)text->length, width = (size_t)text->state.kind;
    bool exact = PyUnicode_CheckExact(object);
    size_t more = exact ? 0 : (size_t)Py_TYPE(object)->tp_basicsize - sizeof(PyUnicodeObject);
    if (text->state.compact && text->state.ascii)
        return sizeof(PyASCIIObject) + length + 1 + more;
    PyCompactUnicodeObject *wide = (PyCompactUnicodeObject *)object;
    size_t head = text->state.compact ? sizeof(PyCompactUnicodeObject) : sizeof(PyUnicodeObject);
    size_t bytes = head + (length + 1) * width + more;
    // Its form for C, unless that is the text itself.
    if (wide->utf8 && (void *)wide->utf8 != PyUnicode_DATA(object))
        bytes += (size_t)wide->utf8_length + 1;
    return bytes;
}

static size_t int_bytes(PyObject *object, size_t fixed)
{
    PyLongObject *number = (PyLongObject *)object;
#if PY_VERSION_HEX >= 0x030C0000
    (void)fixed;
    size_t digits = (size_t)(number->long_value.lv_tag >> 3);
    return offsetof(PyLongObject, long_value.ob_digit) + sizeof(digit) * (digits ? digits : 1);
#else
    return offsetof(PyLongObject, ob_digit) + sizeof(digit) * (size_t)Py_ABS(Py_SIZE(number)) +
           0 * fixed;
#endif
}

// Of an array of values that shares its keys with others. Keys had as much room when it was made.
static size_t values_room(const PyDictKeysObject *keys)
{
    return (size_t)(keys->dk_nentries + keys->dk_usable) * sizeof(void *);
}

static size_t dict_bytes(PyDictObject *dict)
{
    PyDictKeysObject *keys = dict->ma_keys;
    if (dict->ma_values)
        return heap_values_are_embedded(dict->ma_values) ? 0 : values_room(keys);
    return keys->dk_refcnt == 1 ? heap_keys_bytes(keys) : 0;
}

// Of an instance, where they are not in a dictionary.
static size_t values_bytes(PyObject *object)
{
    heap_attributes attributes = heap_attributes_of(object);
    if (!attributes.values || heap_values_are_embedded(attributes.values))
        return 0;
    // In front of them is one byte for each, and two more.
    size_t room = values_room(attributes.keys);
    return ((room / sizeof(void *) + 2 + 7) & ~(size_t)7) + room;
}

static size_t bytearray_bytes(const PyByteArrayObject *array)
{
#if PY_VERSION_HEX >= 0x030F0000
    if (array->ob_bytes_object && !heap_is_immortal(array->ob_bytes_object))
        return (size_t)array->ob_alloc + offsetof(PyBytesObject, ob_sval) + 1; // in a bytes object
#endif
    return (size_t)array->ob_alloc;
}

typedef struct {
    PyVarObject base;
    void *left, *right;
    Py_ssize_t left_index;
} deque_object;
#define DEQUE_BLOCK_ITEMS 64

typedef struct {
    PyVarObject base;
    char *items;
    Py_ssize_t allocated;
    struct {
        char code;
        int size;
    } *element;
} array_object;

typedef struct {
    PyObject base;
    char *data;
    int dimension_count;
    Py_ssize_t *dimensions, *strides;
    PyObject *owner, *element;
    int flags;
} numpy_array;

static size_t array_bytes(const numpy_array *array)
{
    size_t most = 0, dimensions = 2 * sizeof(void *) * (size_t)array->dimension_count;
    for (int i = 0; i < array->dimension_count; i++) {
        size_t bytes = (size_t)(array->dimensions[i] * Py_ABS(array->strides[i]));
        most = bytes > most ? bytes : most;
    }
    return dimensions + (array->flags & 4 ? most : 0); // 4: the data is its own
}

// Types written in C that have no subclasses here, by their names.
static size_t named_bytes(PyObject *object, const char *name)
{
    if (!strcmp(name, "collections.deque")) {
        deque_object *deque = (deque_object *)object;
        size_t used = (size_t)(deque->left_index + Py_SIZE(object));
        size_t blocks = used ? (used + DEQUE_BLOCK_ITEMS - 1) / DEQUE_BLOCK_ITEMS : 1;
        return blocks * (DEQUE_BLOCK_ITEMS + 2) * sizeof(void *);
    }
    if (!strcmp(name, "array.array")) {
        array_object *array = (array_object *)object;
        return array->element ? (size_t)array->allocated * (size_t)array->element->size : 0;
    }
    if (!strcmp(name, "numpy.ndarray"))
        return array_bytes((numpy_array *)object);
    return 0;
}

static size_t before_bytes(PyObject *object)
{
    unsigned long flags = Py_TYPE(object)->tp_flags;
    size_t bytes = PyObject_IS_GC(object) ? sizeof(PyGC_Head) : 0;
#if PY_VERSION_HEX >= 0x030C0000
    bool more = flags & Py_TPFLAGS_PREHEADER;
#else
    bool more = flags & Py_TPFLAGS_MANAGED_DICT;
#endif
    return more ? bytes + 2 * sizeof(void *) : bytes;
}

// Local variables and stack.
static size_t frame_bytes(PyObject *object)
{
    const frame_t *f = heap_frame_in(object);
    if (!f || !heap_frame_has_code(f))
        return 0;
    PyCodeObject *code = frame_code(f);
    return sizeof(void *) * (size_t)(code->co_nlocalsplus + code->co_stacksize);
}

static size_t own_bytes(PyObject *object, PyTypeObject *type)
{
    size_t bytes = (size_t)type->tp_basicsize;
    if (PyUnicode_Check(object))
        return text_bytes(object);
    if (PyLong_Check(object))
        return int_bytes(object, bytes);
    if (PyType_Check(object) && !(((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return sizeof(PyTypeObject);
    if (heap_has_frame(object))
        return bytes + frame_bytes(object); // it has items, but does not say how many
    if (type->tp_itemsize)
        bytes += (size_t)type->tp_itemsize * (size_t)Py_ABS(Py_SIZE(object));
    if (PyList_Check(object))
        bytes += sizeof(void *) * (size_t)((PyListObject *)object)->allocated;
    else if (PyDict_Check(object))
        bytes += dict_bytes((PyDictObject *)object);
    else if (PyAnySet_Check(object)) {
        PySetObject *set = (PySetObject *)object;
        if (set->table != set->smalltable)
            bytes += ((size_t)set->mask + 1) * sizeof(setentry);
    } else if (PyByteArray_Check(object))
        bytes += bytearray_bytes((PyByteArrayObject *)object);
    else if (PyType_Check(object)) {
        PyDictKeysObject *keys = ((PyHeapTypeObject *)object)->ht_cached_keys;
        bytes += keys ? heap_keys_bytes(keys) : 0;
    } else
        bytes += named_bytes(object, type->tp_name);
#if PY_VERSION_HEX >= 0x030D0000
    if (type->tp_flags & Py_TPFLAGS_INLINE_VALUES)
        bytes += _PyInlineValuesSize(type);
#endif
    return bytes;
}

size_t sonde_heap_size(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    size_t bytes = own_bytes(object, type) + before_bytes(object);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        bytes += values_bytes(object);
    if (!PyType_Check(object) && !PyModule_Check(object) && !PyFunction_Check(object) &&
        !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return bytes;
    PyObject *parts[] = {heap_attributes_of(object).dict, heap_closure_of(object)};
    for (int i = 0; i < 2; i++)
        if (heap_is_absorbed(object, parts[i]))
            bytes += own_bytes(parts[i], Py_TYPE(parts[i])) + before_bytes(parts[i]);
    return bytes;
}

heap_capacity sonde_heap_capacity(PyObject *object)
{
    if (PyList_Check(object))
        return (heap_capacity){(size_t)((PyListObject *)object)->allocated,
                               (size_t)Py_SIZE(object)};
    if (PyDict_Check(object)) {
        PyDictObject *dict = (PyDictObject *)object;
        if (!dict->ma_values)
            return (heap_capacity){heap_keys_usable(dict->ma_keys), (size_t)dict->ma_used};
    } else if (PyAnySet_Check(object)) {
        PySetObject *set = (PySetObject *)object;
        if (set->table != set->smalltable)
            return (heap_capacity){(size_t)set->mask + 1, (size_t)set->used};
    }
    return (heap_capacity){0, 0};
}
