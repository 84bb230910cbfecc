"""Threads that all wait for a long time, each for a lock of its own that no `with` holds.

    many_waiters.py THREADS [SECONDS]

Prints its process id and waits that long, or for a line. Then it prints how many scans for lock
holders the agent made, and how many threads they walked.
"""

import ctypes
import json
import os
import sys
import threading
import time

THREADS = int(sys.argv[1])


def agent():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "libsonde-cpython" in line)


over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(THREADS)]
for thread in threads:
    thread.start()
print(os.getpid(), flush=True)
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
else:
    sys.stdin.readline()
counts = (ctypes.c_uint64 * 2)()
ctypes.CDLL(agent()).sonde_agent_scans(counts)
over.set()
for thread in threads:
    thread.join()
print(json.dumps({"scans": counts[0], "walks": counts[1]}))
