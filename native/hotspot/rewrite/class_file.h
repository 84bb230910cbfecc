// Rewrites a class file: calls are inserted into those of its methods that the caller chooses.
// Whatever is not understood stays as it was; the result says why.
#ifndef SONDE_HOTSPOT_CLASS_FILE_H
#define SONDE_HOTSPOT_CLASS_FILE_H

#include "hotspot/rewrite/method_code.h"

#define SONDE_ACC_STATIC 0x0008u

typedef struct {
    uint32_t access;
    sonde_utf8 class, name, descriptor; // as class files write them
    sonde_reader code;                  // the content of its Code attribute
    const sonde_constant_pool *pool;
} sonde_class_method;

typedef struct {
    const char *target_class; // of the calls, as class files write it
    void *context;
    // Whether something is to be inserted, and what. Methods without code are left out.
    bool (*choose)(void *context, const sonde_class_method *method, sonde_method_edit *edit);
    // Called with each method that was chosen: NULL, or why it stays as it was.
    void (*done)(void *context, const sonde_method_edit *edit, const char *why);
} sonde_rewriter;

// NULL, or why it is not done; `to` is to be freed in any case. `changed`: any method was.
const char *sonde_class_rewrite(const uint8_t *bytes, size_t size, const sonde_rewriter *rewriter,
                                sonde_output *to, bool *changed);

#endif
