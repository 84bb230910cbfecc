// The calls that are inserted into methods: of static methods of one class, whose last argument is
// a number that the caller of the rewriter chose. The one that counts has none.
#ifndef SONDE_HOTSPOT_INSERTED_CALLS_H
#define SONDE_HOTSPOT_INSERTED_CALLS_H

#include "hotspot/rewrite/constant_pool.h"

enum {
    SONDE_CALL_ENTER,   // the method was entered
    SONDE_CALL_LEAVE,   // it returns
    SONDE_CALL_UNWIND,  // an exception leaves it
    SONDE_CALL_CATCH,   // it goes on at one of its handlers
    SONDE_CALL_INTEGER, // a value of a primitive type that is no fraction, as a long
    SONDE_CALL_REAL,    // likewise one that is, as a double
    SONDE_CALL_OBJECT,
    SONDE_CALL_PASS, // an instruction is about to be executed
    // Of locks: one is about to be acquired, was acquired, is about to be released; a synchronized
    // method was entered.
    SONDE_CALL_ACQUIRES,
    SONDE_CALL_ACQUIRED,
    SONDE_CALL_RELEASES,
    SONDE_CALL_HOLDS,
    SONDE_CALL_COUNT, // the method was entered, in a window or not; without a number
    SONDE_CALLS,
};

typedef struct {
    const char *name, *descriptor;
} sonde_call_target;
extern const sonde_call_target sonde_call_targets[SONDE_CALLS];

// Indices into the pool, 0: not added yet.
typedef struct {
    sonde_constant_pool *pool;
    const char *target_class; // as class files write it
    uint32_t class, calls[SONDE_CALLS];
    uint32_t throwable, stack_map;
    uint32_t this_class; // of the class file
} sonde_call_constants;

uint32_t sonde_call_constant(sonde_call_constants *constants, uint32_t call);
uint32_t sonde_throwable_constant(sonde_call_constants *constants);
uint32_t sonde_stack_map_constant(sonde_call_constants *constants);

#define SONDE_INSERTED_CALL_SIZE 6u
// Appends the call, with the constant at index `number` as its last argument.
void sonde_append_call(sonde_call_constants *constants, uint32_t call, uint32_t number,
                       sonde_output *to);

// Likewise the call that counts.
#define SONDE_COUNTING_CALL_SIZE 3u
void sonde_append_counting_call(sonde_call_constants *constants, sonde_output *to);

#define SONDE_INSERT_PASS 'V'  // no value: only that one passes
#define SONDE_INSERT_CLASS 'K' // the class itself
// Of locks, see SONDE_CALL_ACQUIRES: the first and third report the object on top of the stack.
#define SONDE_INSERT_ACQUIRES 'a'
#define SONDE_INSERT_ACQUIRED 'd'
#define SONDE_INSERT_RELEASES 'r'
#define SONDE_INSERT_HOLDS_THIS 't'
#define SONDE_INSERT_HOLDS_CLASS 'k'
// A variable whose value is reported before an instruction, or at entry.
typedef struct {
    uint32_t pc;
    bool at_entry; // whatever pc is
    char type;     // the first character of its descriptor, or:
    uint16_t variable;
    uint32_t number;
} sonde_insertion;

uint32_t sonde_insertion_size(const sonde_insertion *insertion);
// Appends it. What it needs of the operand stack is at most:
#define SONDE_INSERTION_STACK 3u
void sonde_append_insertion(sonde_call_constants *constants, const sonde_insertion *insertion,
                            sonde_output *to);

#define SONDE_MAX_INSERTIONS 64u

// What is to be inserted into a method.
typedef struct {
    bool calls;      // its entry, its returns and the exceptions that leave it
    bool exits;      // its returns and the exceptions that leave it
    uint32_t number; // reported with them
    bool counted;    // its entry, in windows
    uint32_t insertion_count;
    sonde_insertion insertions[SONDE_MAX_INSERTIONS]; // by pc; those at entry anywhere
} sonde_method_edit;

static inline bool sonde_edit_has_exits(const sonde_method_edit *edit)
{
    return edit->calls || edit->exits;
}

#endif
