"""Allocates buffers in a library that ctypes loads, and imports no extension module after it."""

import ctypes
import json
import sys

SIZE, COUNT, KEPT = 64 << 10, 1_000, 250

library = ctypes.CDLL(sys.argv[1])
library.buffer_new.restype = ctypes.c_void_p
library.buffer_new.argtypes = [ctypes.c_size_t]
library.buffer_free.argtypes = [ctypes.c_void_p]

buffers = [library.buffer_new(SIZE) for _ in range(COUNT)]
for buffer in buffers[KEPT:]:
    library.buffer_free(buffer)
print(json.dumps({"made": COUNT * SIZE, "alive": KEPT * SIZE}))
