"""Starts and stops sessions many times and tells what of the process grew."""

import json
import os
import sys
import threading
import time

import sonde

path, count = sys.argv[1], int(sys.argv[2])


def burn(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        pass


def size():
    status = open("/proc/self/status").read()

    def field(name):
        return int(status.split(name + ":")[1].split()[0])

    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": field("Threads"),
        "resident_kb": field("VmRSS"),
        "mapped_kb": field("VmSize"),
        "maps": len(open("/proc/self/maps").read().splitlines()),
        "children": open(f"/proc/self/task/{os.getpid()}/children").read().split(),
    }


def cycle():
    with sonde.record(path, rate=5000, what="cpu,waits"):
        thread = threading.Thread(target=burn, args=(2,))
        thread.start()
        burn(2)
        thread.join()
    assert os.path.getsize(path) > 0
    os.unlink(path)


for _ in range(8):  # until everything that is made once is made
    cycle()
before = size()
for _ in range(count):
    cycle()
burn(5)
print(json.dumps({"before": before, "after": size()}))
