"""Threads pinned to one processor each, which compute all the time without the GIL.

Each tells how long it computed, what of that it had the processor, and what of it it stood in the
run queue, by the kernel's clocks, and how often it waited. If it never did, what is left of the time
is what the hypervisor took from it, where the kernel's CPU clock does not count that in.
"""

import hashlib
import json
import os
import resource
import sys
import threading
import time

SECONDS = float(sys.argv[1])
PROCESSORS = [int(number) for number in sys.argv[2].split(",")]


def steal_ns(processor):
    """Of that processor, by /proc/stat."""
    with open("/proc/stat") as f:
        for line in f:
            name, *ticks = line.split()
            if name == f"cpu{processor}":
                return int(ticks[7]) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
    return 0


def delay_ns():
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as f:
        return int(f.read().split()[1])


def clocks(processor):
    """Time, CPU time, time in the run queue, and the processor's steal, all of one moment."""
    while True:
        before, steal = delay_ns(), steal_ns(processor)
        wall, cpu = time.monotonic_ns(), time.thread_time_ns()
        if delay_ns() == before:
            return wall, cpu, before, steal


def waits():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def compute(processor):
    os.sched_setaffinity(0, {processor})
    hashed(1)
    began_cpu = time.thread_time()
    hashed(TRIAL)
    rounds = int(TRIAL * SECONDS / (time.thread_time() - began_cpu))
    waited, began = waits(), clocks(processor)
    hashed(rounds)  # one call, which lets the GIL go: a wait for that is no steal time
    ended = clocks(processor)
    names = ("wall_ns", "cpu_ns", "delay_ns", "steal_ns")
    told = {name: then - now for name, now, then in zip(names, began, ended)}
    told["waits"] = waits() - waited
    found[threading.current_thread().name] = {"processor": processor, **told}


def hashed(rounds):
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)


TRIAL = 20000
found = {}
threads = [
    threading.Thread(target=compute, args=(processor,), name=f"on-{i}")
    for i, processor in enumerate(PROCESSORS)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(found))
