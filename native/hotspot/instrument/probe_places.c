#define _GNU_SOURCE
#include "hotspot/instrument/probe_places.h"

#include "hotspot/rewrite/instructions.h"

typedef struct {
    sonde_reader lines, variables; // contents of the tables, empty without one
    uint32_t code_size;
} method_tables;

static bool find_tables(const sonde_class_method *method, method_tables *tables)
{
    sonde_reader code = method->code;
    *tables = (method_tables){0};
    sonde_read_u4(&code);
    tables->code_size = sonde_read_u4(&code);
    sonde_read_bytes(&code, tables->code_size);
    sonde_read_bytes(&code, 8 * (size_t)sonde_read_u2(&code));
    for (uint32_t count = sonde_read_u2(&code); count-- && !code.failed;) {
        sonde_utf8 name = sonde_pool_utf8(method->pool, sonde_read_u2(&code));
        sonde_reader content = sonde_read_part(&code, sonde_read_u4(&code));
        if (sonde_utf8_is(name, "LineNumberTable") && !tables->lines.size)
            tables->lines = content;
        if (sonde_utf8_is(name, "LocalVariableTable") && !tables->variables.size)
            tables->variables = content;
    }
    return !code.failed && tables->lines.size;
}

// The variable of that name at `pc`. False: it has no value there, or is none.
static bool find_variable(const sonde_class_method *method, sonde_reader table, const char *name,
                          uint32_t pc, sonde_insertion *found, bool *is_variable)
{
    *is_variable = false;
    for (uint32_t count = sonde_read_u2(&table); count-- && !table.failed;) {
        uint32_t start = sonde_read_u2(&table), length = sonde_read_u2(&table);
        sonde_utf8 called = sonde_pool_utf8(method->pool, sonde_read_u2(&table));
        sonde_utf8 type = sonde_pool_utf8(method->pool, sonde_read_u2(&table));
        uint32_t variable = sonde_read_u2(&table);
        if (table.failed || !type.size || !sonde_utf8_is(called, name))
            continue;
        *is_variable = true;
        if (pc < start || pc - start >= length)
            continue;
        found->type = (char)type.text[0];
        found->variable = (uint16_t)variable;
        return true;
    }
    return false;
}

static bool add(const sonde_class_method *method, const method_tables *tables, uint32_t place,
                uint32_t pc, sonde_method_edit *edit)
{
    const sonde_probe_order *order = sonde_probe_at(place);
    if (edit->insertion_count == SONDE_MAX_INSERTIONS)
        return false;
    const char *name = order->steps[0].text;
    bool is_static = method->access & SONDE_ACC_STATIC, is_variable;
    sonde_insertion insertion = {.pc = pc, .type = 'V'};
    uint32_t flags = 0;
    if (!find_variable(method, tables->variables, name, pc, &insertion, &is_variable)) {
        if (is_variable) {
            flags = SONDE_PLACE_UNBOUND;
        } else if (!is_static) { // `this`, or a field of it
            insertion.type = 'L';
            flags = strcmp(name, "this") == 0 ? 0 : SONDE_PLACE_FIELD;
        } else {
            insertion.type = SONDE_INSERT_CLASS;
            flags = SONDE_PLACE_STATIC;
        }
    }
    insertion.number = sonde_place_number(place, insertion.type, flags, order->serial);
    edit->insertions[edit->insertion_count++] = insertion;
    return true;
}

// Each instruction that the line begins with: not where it only goes on.
static bool find_line(const sonde_class_method *method, const method_tables *tables, uint32_t place,
                      sonde_method_edit *edit)
{
    sonde_reader table = tables->lines;
    uint32_t wanted = sonde_probe_at(place)->line, before = 0;
    bool found = false;
    for (uint32_t count = sonde_read_u2(&table); count-- && !table.failed;) {
        uint32_t pc = sonde_read_u2(&table), line = sonde_read_u2(&table);
        if (line == wanted && before != wanted && pc < tables->code_size)
            found |= add(method, tables, place, pc, edit);
        before = line;
    }
    return found;
}

uint32_t sonde_probe_places(const sonde_class_method *method, uint32_t probes,
                            sonde_method_edit *edit)
{
    method_tables tables;
    uint32_t found = 0;
    if (!find_tables(method, &tables))
        return 0;
    for (; probes; probes &= probes - 1) {
        uint32_t place = (uint32_t)__builtin_ctz(probes);
        if (sonde_probe_at(place) && find_line(method, &tables, place, edit))
            found |= 1u << place;
    }
    return found;
}
