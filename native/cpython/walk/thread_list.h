// The Python threads of this process for the reader, found without the GIL and without the
// runtime's lock.
#ifndef SONDE_THREADS_H
#define SONDE_THREADS_H

#include "core/sampling/reader_thread.h"

extern const sonde_reader_ops sonde_threads_here;

#endif
