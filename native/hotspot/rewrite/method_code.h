// Inserts calls into the code of one method, and moves everything that refers to places in it.
#ifndef SONDE_HOTSPOT_METHOD_CODE_H
#define SONDE_HOTSPOT_METHOD_CODE_H

#include "hotspot/rewrite/inserted_calls.h"

typedef struct {
    uint32_t major;           // version of the class file
    bool constructor, object; // and whether of java.lang.Object, which calls no other
} sonde_method_kind;

// Appends the content of the Code attribute `old` with the insertions. NULL, or why it is not done:
// then what was appended is of no use, and the constants added for it do no harm.
const char *sonde_method_code_rewrite(sonde_reader old, sonde_call_constants *constants,
                                      const sonde_method_kind *kind, const sonde_method_edit *edit,
                                      sonde_output *to);

#endif
