#define _GNU_SOURCE
#include "cpython/heap/edges.h"

uint32_t sonde_heap_edge_count;

// ---- what tp_traverse does not say: names

// What it is about to meet, mostly in this order.
typedef struct {
    PyObject *target;
    uint32_t kind, label;
} expected_edge;
#define MAX_EXPECTED 512
#define ALREADY_WRITTEN UINT32_MAX // as a kind: to be met, but not to be written again
static expected_edge expected[MAX_EXPECTED];
static unsigned expected_count, expected_next;
static uint32_t other_kind, other_label; // of what was not expected
static PyObject *absorbed[2];

static void expect(PyObject *target, uint32_t kind, uint32_t label)
{
    if (target && expected_count < MAX_EXPECTED)
        expected[expected_count++] = (expected_edge){target, kind, label};
}

static void expect_fixed(PyObject *target, const char *name)
{
    if (target)
        expect(target, EDGE_FIXED, sonde_heap_name(name));
}

static int visit(PyObject *target, void *unused)
{
    (void)unused;
    if (!target || target == absorbed[0] || target == absorbed[1])
        return 0;
    for (unsigned i = 0; i < expected_count; i++) {
        unsigned place = (expected_next + i) % expected_count;
        if (expected[place].target != target)
            continue;
        expected_next = (place + 1) % expected_count;
        expected[place].target = NULL; // each once
        if (expected[place].kind != ALREADY_WRITTEN)
            heap_edge_to(target, expected[place].kind, expected[place].label);
        return 0;
    }
    heap_edge_to(target, other_kind, other_label);
    return 0;
}

// ---- dictionaries

static bool is_identifier(PyObject *key)
{
    return PyUnicode_CheckExact(key) && ((PyASCIIObject *)key)->state.interned;
}

typedef enum { AS_ITEMS, AS_ATTRIBUTES, AS_SHOWN_TWICE } entries_form;

static void entry_edges(PyObject *key, PyObject *value, entries_form form, bool owns_key)
{
    if (owns_key && form != AS_SHOWN_TWICE)
        heap_edge_to(key, EDGE_IS_KEY, HEAP_NONE);
    uint32_t kind = EDGE_KEY, label = HEAP_NONE;
    if (PyUnicode_CheckExact(key) && (form != AS_ITEMS || is_identifier(key) || !owns_key)) {
        kind = form == AS_ITEMS ? EDGE_KEY : EDGE_ATTRIBUTE;
        label = heap_want(key);
    }
    heap_edge_to(value, form == AS_SHOWN_TWICE ? kind | EDGE_UNCOUNTED : kind, label);
}

static void values_edges(PyDictValues *values, PyDictKeysObject *keys, entries_form form)
{
    if (keys->dk_kind == DICT_KEYS_GENERAL)
        return;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (values->values[i] && entries[i].me_key)
            entry_edges(entries[i].me_key, values->values[i], form, false);
}

static void dict_edges(PyDictObject *dict, entries_form form)
{
    PyDictKeysObject *keys = dict->ma_keys;
    if (dict->ma_values) {
        bool shown = form == AS_ITEMS && heap_values_are_embedded(dict->ma_values);
        values_edges(dict->ma_values, keys, shown ? AS_SHOWN_TWICE : form);
        return;
    }
    bool owns_keys = keys->dk_refcnt == 1;
    if (keys->dk_kind == DICT_KEYS_GENERAL) {
        PyDictKeyEntry *entries = DK_ENTRIES(keys);
        for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
            if (entries[i].me_value)
                entry_edges(entries[i].me_key, entries[i].me_value, form, owns_keys);
    } else {
        PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
        for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
            if (entries[i].me_value)
                entry_edges(entries[i].me_key, entries[i].me_value, form, owns_keys);
    }
}

// ---- what kinds of objects have

static void expect_members(PyObject *object)
{
    for (PyTypeObject *type = Py_TYPE(object); type; type = type->tp_base) {
        PyMemberDef *member = type->tp_members;
        for (; member && member->name; member++) {
            bool is_object =
                member->type == HEAP_MEMBER_OBJECT || member->type == HEAP_MEMBER_OBJECT_EX;
            if (is_object && member->offset >= (Py_ssize_t)sizeof(PyObject))
                expect_fixed(*(PyObject **)((char *)object + member->offset), member->name);
        }
    }
}

static uint32_t local_name(PyCodeObject *code, int index)
{
    PyObject *names = code->co_localsplusnames;
    if (!names || !PyTuple_CheckExact(names) || index >= PyTuple_GET_SIZE(names))
        return HEAP_NONE;
    return heap_want(PyTuple_GET_ITEM(names, index));
}

static void expect_locals(const frame_t *f)
{
    if (!heap_frame_has_code(f))
        return;
    PyCodeObject *code = frame_code(f);
    int height = heap_frame_height(f, code);
    for (int i = 0; i < height && i < code->co_nlocalsplus; i++) {
        bool counted;
        PyObject *value = heap_frame_value(f, i, &counted);
        if (value)
            expect(value, counted ? EDGE_LOCAL : EDGE_LOCAL | EDGE_UNCOUNTED, local_name(code, i));
    }
}

static void expect_names(PyObject *object)
{
    const frame_t *f = heap_frame_in(object);
    if (f)
        expect_locals(f);
    else if (PyExceptionInstance_Check(object)) {
        PyBaseExceptionObject *error = (PyBaseExceptionObject *)object;
        expect_fixed(error->args, "args");
        expect_fixed(error->notes, "__notes__");
        expect_fixed(error->traceback, "__traceback__");
        expect_fixed(error->cause, "__cause__");
        expect_fixed(error->context, "__context__");
    } else if (PyTraceBack_Check(object))
        expect_fixed((PyObject *)((PyTracebackObject *)object)->tb_next, "tb_next");
    else if (PyCell_Check(object))
        expect_fixed(((PyCellObject *)object)->ob_ref, "cell_contents");
    else if (PyMethod_Check(object)) {
        expect_fixed(((PyMethodObject *)object)->im_func, "__func__");
        expect_fixed(((PyMethodObject *)object)->im_self, "__self__");
    } else if (PyCFunction_Check(object)) {
        expect_fixed(((PyCFunctionObject *)object)->m_self, "__self__");
        expect_fixed(((PyCFunctionObject *)object)->m_module, "__module__");
    } else if (PyFunction_Check(object)) {
        PyFunctionObject *function = (PyFunctionObject *)object;
        expect_fixed(function->func_code, "__code__");
        expect_fixed(function->func_defaults, "__defaults__");
        expect_fixed(function->func_qualname, "__qualname__");
    } else if (PyType_Check(object)) {
        PyTypeObject *type = (PyTypeObject *)object;
        expect_fixed(type->tp_mro, "__mro__");
        expect_fixed(type->tp_bases, "__bases__");
    }
    if (PyAnySet_Check(object) || !strcmp(Py_TYPE(object)->tp_name, "collections.deque")) {
        other_kind = PyAnySet_Check(object) ? EDGE_FIXED : EDGE_INDEX;
        other_label = PyAnySet_Check(object) ? sonde_heap_name("element") : HEAP_NONE;
        expect_fixed((PyObject *)Py_TYPE(object), "__class__");
        return;
    }
    expect_members(object);
}

static void closure_edges(PyFunctionObject *function, PyObject *cells, bool counted)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    int first = code->co_nlocalsplus - (int)PyTuple_GET_SIZE(cells);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); i++)
        if (first >= 0 && PyTuple_GET_ITEM(cells, i))
            heap_edge_to(PyTuple_GET_ITEM(cells, i),
                         counted ? EDGE_CLOSURE : EDGE_CLOSURE | EDGE_UNCOUNTED,
                         local_name(code, first + (int)i));
}

static void fixed_edge(PyObject *target, const char *name)
{
    if (target)
        heap_edge_to(target, EDGE_FIXED, sonde_heap_name(name));
}

// What a class owns and tp_traverse leaves out.
static void class_edges(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) { // static: nothing of it is traversed
        fixed_edge(type->tp_bases, "__bases__");
        fixed_edge(type->tp_mro, "__mro__");
        return;
    }
    PyHeapTypeObject *heap = (PyHeapTypeObject *)type;
    fixed_edge(heap->ht_name, "__name__");
    fixed_edge(heap->ht_qualname, "__qualname__");
    fixed_edge(heap->ht_slots, "__slots__");
    PyDictKeysObject *keys = heap->ht_cached_keys;
    if (!keys || keys->dk_kind == DICT_KEYS_GENERAL)
        return;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (entries[i].me_key)
            heap_edge_to(entries[i].me_key, EDGE_IS_KEY, HEAP_NONE);
}

static void code_edges(PyCodeObject *code)
{
    fixed_edge(code->co_consts, "co_consts");
    fixed_edge(code->co_names, "co_names");
    fixed_edge(code->co_localsplusnames, "co_varnames");
    fixed_edge(code->co_localspluskinds, "co_localspluskinds");
    fixed_edge(code->co_filename, "co_filename");
    fixed_edge(code->co_name, "co_name");
    fixed_edge(code->co_qualname, "co_qualname");
    fixed_edge(code->co_linetable, "co_linetable");
    fixed_edge(code->co_exceptiontable, "co_exceptiontable");
}

// numpy does not traverse arrays of objects. Checked on numpy 1.23 to 2.3.
static void array_edges(PyObject *object)
{
    struct {
        PyObject base;
        char *data;
        int dimension_count;
        Py_ssize_t *dimensions, *strides;
        PyObject *owner;
        struct {
            PyObject base;
            PyTypeObject *type;
            char kind;
        } *element;
        int flags;
    } *array = (void *)object;
    fixed_edge(array->owner, "base");
    fixed_edge((PyObject *)array->element, "dtype");
    size_t count = 1;
    for (int i = 0; i < array->dimension_count; i++)
        count *= (size_t)array->dimensions[i];
    if (!(array->flags & 4) || !array->element || array->element->kind != 'O' || !array->data)
        return; // 4: the data is its own
    for (size_t i = 0; i < count; i++) {
        PyObject *element = ((PyObject **)array->data)[i];
        if (element)
            heap_edge_to(element, EDGE_INDEX, HEAP_NONE);
    }
}

static void item_edges(PyObject **items, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (items[i])
            heap_edge_to(items[i], EDGE_INDEX, HEAP_NONE);
}

// ---- an object

// tp_traverse of what a subclass of dict or list adds. This is a copy of the process, so the
// object may be changed: its own contents, which are written with their names, are not met again.
static void traverse_rest(PyObject *object)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (PyDict_Check(object)) {
        static PyDictKeysObject none;
        PyDictObject *dict = (PyDictObject *)object;
        PyDictKeysObject *keys = dict->ma_keys;
        PyDictValues *values = dict->ma_values;
        none = *keys;
        none.dk_nentries = 0;
        none.dk_kind = DICT_KEYS_UNICODE;
        dict->ma_keys = &none;
        dict->ma_values = NULL;
        traverse(object, visit, NULL);
        dict->ma_keys = keys;
        dict->ma_values = values;
    } else if (PyList_Check(object)) {
        Py_ssize_t size = Py_SIZE(object);
        ((PyVarObject *)object)->ob_size = 0;
        traverse(object, visit, NULL);
        ((PyVarObject *)object)->ob_size = size;
    } else
        traverse(object, visit, NULL);
}

// The values that lie in an instance. Not every version's tp_traverse meets them there when there
// is a dictionary, too.
static void instance_edges(const heap_attributes *attributes)
{
    PyDictKeysObject *keys = attributes->keys;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; keys->dk_kind != DICT_KEYS_GENERAL && i < keys->dk_nentries; i++) {
        PyObject *value = attributes->values->values[i];
        if (!entries[i].me_key || !value)
            continue;
        heap_edge_to(value, EDGE_ATTRIBUTE, heap_want(entries[i].me_key));
        expect(value, ALREADY_WRITTEN, HEAP_NONE);
    }
}

static void traverse_edges(PyObject *object)
{
    heap_attributes attributes = heap_attributes_of(object);
    PyObject *closure = heap_closure_of(object);
    expected_count = expected_next = 0;
    other_kind = EDGE_PLAIN;
    other_label = HEAP_NONE;
    absorbed[0] = heap_is_absorbed(object, attributes.dict) ? attributes.dict : NULL;
    absorbed[1] = heap_is_absorbed(object, closure) ? closure : NULL;
    expect_names(object);
    if (attributes.values)
        instance_edges(&attributes);
    if (!absorbed[0])
        expect_fixed(attributes.dict, "__dict__");
    expect_fixed((PyObject *)Py_TYPE(object), "__class__");
    if (PyTuple_Check(object))
        for (Py_ssize_t i = 0; i < Py_SIZE(object); i++)
            expect(PyTuple_GET_ITEM(object, i), EDGE_INDEX, HEAP_NONE);
    if (PyDict_Check(object))
        dict_edges((PyDictObject *)object, AS_ITEMS);
    else if (PyList_Check(object))
        item_edges(((PyListObject *)object)->ob_item, Py_SIZE(object));
    bool is_static =
        PyType_Check(object) && !(((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    if (is_static)
        fixed_edge(attributes.dict, "__dict__");
    else
        traverse_rest(object);
    if (attributes.dict) {
        // Its values once more where others have it, too: their way is that of the owner.
        bool embedded = attributes.values != NULL;
        if (!embedded)
            dict_edges((PyDictObject *)attributes.dict,
                       absorbed[0] ? AS_ATTRIBUTES : AS_SHOWN_TWICE);
    }
    if (closure)
        closure_edges((PyFunctionObject *)object, closure, absorbed[1]);
    if (PyType_Check(object))
        class_edges((PyTypeObject *)object);
}

void sonde_heap_edges(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBytes_Type)
        return;
    if (type == &PyList_Type)
        item_edges(((PyListObject *)object)->ob_item, Py_SIZE(object));
    else if (type == &PyTuple_Type)
        item_edges(((PyTupleObject *)object)->ob_item, Py_SIZE(object));
    else if (type == &PyDict_Type)
        dict_edges((PyDictObject *)object, AS_ITEMS);
    else if (type == &PyCode_Type)
        code_edges((PyCodeObject *)object);
    else if (PyType_Check(object) || (type->tp_traverse && PyObject_IS_GC(object)))
        traverse_edges(object);
    else if (!strcmp(type->tp_name, "numpy.ndarray"))
        array_edges(object);
    // An object of a class has a reference to that, which a class defined in C need not count.
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && !(type->tp_traverse && PyObject_IS_GC(object)))
        fixed_edge((PyObject *)type, "__class__");
}

void sonde_heap_frame_edges(const frame_t *f)
{
    PyCodeObject *code = frame_code(f);
    fixed_edge((PyObject *)code, "f_code");
    fixed_edge((PyObject *)frame_function(f), "function");
    fixed_edge(f->f_locals, "f_locals");
    fixed_edge((PyObject *)f->frame_obj, "frame object");
    // A generator's frame is shown by the generator, too.
    uint32_t flags = f->owner == FRAME_OWNED_BY_THREAD ? 0 : EDGE_UNCOUNTED;
    int height = heap_frame_height(f, code);
    for (int i = 0; i < height; i++) {
        bool counted;
        PyObject *value = heap_frame_value(f, i, &counted);
        if (!value)
            continue;
        uint32_t kind = counted ? flags : EDGE_UNCOUNTED;
        if (i < code->co_nlocalsplus)
            heap_edge_to(value, EDGE_LOCAL | kind, local_name(code, i));
        else
            heap_edge_to(value, EDGE_PLAIN | kind, HEAP_NONE);
    }
}
