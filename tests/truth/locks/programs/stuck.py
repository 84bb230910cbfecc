"""One thread keeps the GIL in C code to the very end; another one wants it all the time."""

import ctypes
import threading
import time

from ledger import now, tell

libc = ctypes.PyDLL(None)  # its calls keep the GIL
asleep = []


def want():
    asleep.append(now())
    time.sleep(0.05)


def hog():
    libc.usleep(400_000)
    libc._exit(0)


threading.Thread(target=want, daemon=True).start()
while not asleep:
    time.sleep(0.001)
tell({}, asked=asleep[0] + 50_000_000, until=now() + 400_000_000)
hog()
