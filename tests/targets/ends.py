"""Ends in the way its argument says, after some work."""

import os
import signal
import sys
import time


def burn(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        pass


how = sys.argv[1]
print("begun", flush=True)
burn(30)
if how.startswith("code"):
    sys.exit(int(how[4:]))
elif how == "raise":
    raise RuntimeError("mine")
elif how == "text":
    sys.exit("a last word")
elif how == "_exit":
    os._exit(9)
elif how.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, how))
elif how == "segfault":
    import ctypes

    ctypes.string_at(8)
elif how == "overflow":
    sys.setrecursionlimit(1 << 30)

    def deeper(data):
        return sorted(data, key=lambda _: deeper(data))

    deeper([1])
elif how == "breakpoint":
    # int3, as debuggers and some libraries leave it
    import ctypes
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xcc\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(None)(address)()
elif how == "abort":
    os.abort()
elif how == "faulthandler":
    import ctypes
    import faulthandler

    faulthandler.enable()
    burn(30)
    ctypes.string_at(8)
elif how == "later":
    import faulthandler

    faulthandler.dump_traceback_later(0.05, exit=True)
    burn(5_000)
burn(30)
