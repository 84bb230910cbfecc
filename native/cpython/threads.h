// The Python threads of this process, found without the GIL and without the runtime's lock.
#ifndef SONDE_THREADS_H
#define SONDE_THREADS_H

#include <Python.h>
#include <stdint.h>

typedef struct {
    uint32_t tid;
    PyThreadState *state;
} sonde_python_thread;

// Fills `out` with up to `room` threads of all interpreters; how many, or -1 if the lists moved
// under our hands (try again later).
int sonde_list_threads(sonde_python_thread *out, int room);

#endif
