// The VM's code: its own, and what it has generated: its interpreter, methods that it compiled,
// routines that these call. May be asked in a signal handler, under the guard.
#ifndef SONDE_HOTSPOT_CODE_CACHE_H
#define SONDE_HOTSPOT_CODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

// Once per session: where it lies.
void sonde_vm_code_prepare(void);

// Its own.
bool sonde_is_vm_code(uintptr_t pc);

bool sonde_is_generated(uintptr_t pc);
// Of all that is generated, the interpreter.
bool sonde_is_interpreter(uintptr_t pc);

typedef struct {
    uintptr_t from; // of all of it, what is known about it included
    int32_t words;  // of a frame, the return address included; 0: unknown
    bool is_method;
    // Of a method: which compilation it is, 0 if that is unknown; and where its own code ends.
    // Behind that are stubs of it, one of them the address to return to when it is deoptimized.
    int32_t number;
    uintptr_t code_to;
} sonde_blob;

// What a place in generated code is a part of.
bool sonde_blob_at(uintptr_t pc, sonde_blob *out);
// Was a method compiled to be entered in the middle of a loop that the interpreter has begun? True
// if that is not known.
bool sonde_is_entered_in_loop(const sonde_blob *method);

// Where the VM calls Java, what is called returns to this one place. By the frame pointer there: is
// it the first such call in its thread, with no Java below?
bool sonde_is_entry(uintptr_t pc);
bool sonde_is_first_entry(uintptr_t fp);

#endif
