#include "cpython/flow/flow_filter.h"

#include "core/base/hash.h"

#include <string.h>

bool sonde_flow_limited;

static char wanted[SONDE_FLOW_WITHIN + 1];
static size_t wanted_length;
static bool by_module; // the text is the name of a module

typedef enum { OTHER, OF_MODULE, FUNCTION } verdict;

// Code that was looked at. Another code object in the place of one that has died is recognized by
// its strings; where these are the same, too, so is the answer.
#define CACHE_BITS 10
static struct {
    const PyCodeObject *code;
    const PyObject *name, *file;
    int line;
    verdict verdict;
} cache[1u << CACHE_BITS];

void sonde_flow_filter_set(const char *within, size_t length)
{
    wanted_length = length < SONDE_FLOW_WITHIN ? length : SONDE_FLOW_WITHIN;
    memcpy(wanted, within, wanted_length);
    wanted[wanted_length] = 0;
    memset(cache, 0, sizeof cache);
    sonde_flow_limited = wanted_length > 0;
    by_module = false;
    PyObject *modules = sonde_flow_limited ? PyImport_GetModuleDict() : NULL; // borrowed
    by_module = modules && PyDict_CheckExact(modules) && PyDict_GetItemString(modules, wanted);
    PyErr_Clear();
}

bool sonde_flow_is_of_module(void) { return by_module; }

bool sonde_flow_is_span(const char *name, size_t length)
{
    return sonde_flow_limited && !by_module && length == wanted_length &&
           memcmp(name, wanted, length) == 0;
}

static const char *text_of(PyObject *text, size_t *length)
{
    if (!text || !PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
        return NULL;
    *length = (size_t)PyUnicode_GET_LENGTH(text);
    return (const char *)PyUnicode_1BYTE_DATA(text);
}

static const char *module_of(const frame_t *frame, size_t *length)
{
    PyObject *globals = frame ? frame->f_globals : NULL;
    if (!globals || !PyDict_CheckExact(globals))
        return NULL;
    PyObject *name = PyDict_GetItemString(globals, "__name__"); // borrowed
    return text_of(name, length);
}

static bool is_wanted(const char *text, size_t length)
{
    return text && length == wanted_length && memcmp(text, wanted, length) == 0;
}

// The module, or one of the package of that name.
static bool is_in_wanted(const char *module, size_t length)
{
    return module && length >= wanted_length && memcmp(module, wanted, wanted_length) == 0 &&
           (length == wanted_length || module[wanted_length] == '.');
}

// MODULE.NAME or MODULE:NAME.
static bool is_wanted_of(const char *module, size_t module_length, const char *name, size_t length)
{
    return module && name && wanted_length == module_length + 1 + length &&
           memcmp(wanted, module, module_length) == 0 &&
           (wanted[module_length] == '.' || wanted[module_length] == ':') &&
           memcmp(wanted + module_length + 1, name, length) == 0;
}

static verdict judge(PyCodeObject *code, const frame_t *frame)
{
    size_t module_length = 0, length = 0;
    const char *module = module_of(frame, &module_length);
    if (is_in_wanted(module, module_length)) {
        by_module = true;
        return OF_MODULE;
    }
    const char *name = text_of(code->co_qualname, &length);
    bool function = is_wanted(name, length) || is_wanted_of(module, module_length, name, length);
    return function && !by_module ? FUNCTION : OTHER;
}

static verdict verdict_of(PyCodeObject *code, const frame_t *frame)
{
    uint32_t place = sonde_hash_place((uint64_t)(uintptr_t)code, CACHE_BITS);
    bool known = cache[place].code == code && cache[place].name == code->co_qualname &&
                 cache[place].file == code->co_filename &&
                 cache[place].line == code->co_firstlineno;
    if (known)
        return cache[place].verdict;
    verdict found = judge(code, frame);
    cache[place].code = code;
    cache[place].name = code->co_qualname;
    cache[place].file = code->co_filename;
    cache[place].line = code->co_firstlineno;
    cache[place].verdict = found;
    return found;
}

bool sonde_flow_admits(sonde_flow_thread *thread, PyCodeObject *code, const frame_t *frame,
                       bool entering)
{
    if (thread->span || thread->inside)
        return true;
    verdict found = verdict_of(code, frame);
    if (found == FUNCTION && entering) {
        thread->inside = 1;
        return true;
    }
    return found == OF_MODULE;
}

void sonde_flow_left(sonde_flow_thread *thread)
{
    if (thread->cur == thread->root && !thread->over)
        thread->inside = 0;
}
