#include "hotspot/lock_activity/lock_places.h"

#include "hotspot/rewrite/instructions.h"

#define ACC_SYNCHRONIZED 0x0020u

// The types that programs call lock() and unlock() on. Calls by another class that implements Lock
// are left out: it may use one of these itself.
static bool is_lock_class(sonde_utf8 class)
{
    static const char *const classes[] = {
        "java/util/concurrent/locks/Lock",
        "java/util/concurrent/locks/ReentrantLock",
        "java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock",
        "java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock",
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (sonde_utf8_is(class, classes[i]))
            return true;
    return false;
}

// The insertion type before the instruction, 0: none.
static char before(const sonde_class_method *method, const uint8_t *instruction, uint32_t *number)
{
    *number = SONDE_LOCK_IS_MONITOR;
    if (*instruction == SONDE_OP_MONITORENTER)
        return SONDE_INSERT_ACQUIRES;
    if (*instruction == SONDE_OP_MONITOREXIT)
        return SONDE_INSERT_RELEASES;
    if (*instruction != SONDE_OP_INVOKEVIRTUAL && *instruction != SONDE_OP_INVOKEINTERFACE)
        return 0;
    uint32_t called = (uint32_t)instruction[1] << 8 | instruction[2];
    if (!sonde_utf8_is(sonde_pool_method_descriptor(method->pool, called), "()V") ||
        !is_lock_class(sonde_pool_method_class(method->pool, called)))
        return 0;
    sonde_utf8 name = sonde_pool_method_name(method->pool, called);
    *number = SONDE_LOCK_IS_OBJECT;
    if (sonde_utf8_is(name, "lock"))
        return SONDE_INSERT_ACQUIRES;
    return sonde_utf8_is(name, "unlock") ? SONDE_INSERT_RELEASES : 0;
}

static bool add(sonde_method_edit *edit, sonde_insertion insertion)
{
    if (edit->insertion_count == SONDE_MAX_INSERTIONS)
        return false;
    edit->insertions[edit->insertion_count++] = insertion;
    return true;
}

static bool add_all(const sonde_class_method *method, sonde_method_edit *edit)
{
    sonde_reader code = method->code;
    sonde_read_u4(&code); // stack, variables
    uint32_t size = sonde_read_u4(&code);
    const uint8_t *bytes = sonde_read_bytes(&code, size);
    bool acquired = false;
    for (uint32_t pc = 0, length; bytes && pc < size; pc += length) {
        length = sonde_instruction_length(bytes, size, pc);
        if (!length)
            return false;
        if (acquired && !add(edit, (sonde_insertion){.pc = pc, .type = SONDE_INSERT_ACQUIRED}))
            return false;
        uint32_t number;
        char type = before(method, bytes + pc, &number);
        if (type && !add(edit, (sonde_insertion){.pc = pc, .type = type, .number = number}))
            return false;
        acquired = type == SONDE_INSERT_ACQUIRES;
    }
    return bytes;
}

bool sonde_lock_places(const sonde_class_method *method, sonde_method_edit *edit)
{
    uint32_t begun = edit->insertion_count;
    bool whole = add_all(method, edit);
    if (whole && method->access & ACC_SYNCHRONIZED) {
        bool is_static = method->access & SONDE_ACC_STATIC;
        whole = add(edit, (sonde_insertion){.at_entry = true,
                                            .type = is_static ? SONDE_INSERT_HOLDS_CLASS
                                                              : SONDE_INSERT_HOLDS_THIS});
        edit->exits = whole;
    }
    if (!whole)
        edit->insertion_count = begun;
    return whole;
}
