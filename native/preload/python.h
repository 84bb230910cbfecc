// The way into a Python program: the moment at which its interpreter is up.
#ifndef SONDE_PRELOAD_PYTHON_H
#define SONDE_PRELOAD_PYTHON_H

#include <stdbool.h>

typedef struct {
    // Is there an agent for this runtime ("cpython-3.13")? Asked before the interpreter comes up.
    bool (*is_known)(const char *runtime);
    // The interpreter is up, and no line of the program has run. The caller holds the GIL.
    // `library` is a handle of the object that carries the interpreter.
    void (*initialized)(const char *runtime, void *library);
    // Every audit event after that.
    void (*audited)(const char *event, void *args);
} sonde_python_ops;

// From now on every interpreter that comes up in this process is noticed, whether the program is
// one, is linked with one, or loads one later.
void sonde_python_expect(const sonde_python_ops *ops);

#endif
