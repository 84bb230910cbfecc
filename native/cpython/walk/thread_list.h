// The Python threads of this process for the reader, found without the GIL and without the
// runtime's lock.
#ifndef SONDE_CPYTHON_THREAD_LIST_H
#define SONDE_CPYTHON_THREAD_LIST_H

#include "core/sampling/reader_thread.h"

extern const sonde_reader_ops sonde_threads_here;

#endif
