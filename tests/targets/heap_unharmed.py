"""Notices whatever a heap snapshot does to it: signals, children, descriptors, threads, forks."""

import ctypes
import gc
import json
import os
import signal
import sys
import threading
import time

signals = []
signal.signal(signal.SIGCHLD, lambda number, frame: signals.append(number))
# With a child of its own that goes on: waitpid(-1) waits for that one, and for no other.
own = os.fork()
if own == 0:
    os.closerange(0, 3)  # who reads from its parent need not wait for it
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it ends with that, however that ends
    signal.pause()
    os._exit(0)
seen = []
worked = [0] * 50
ended = threading.Event()


def wait():
    while not ended.is_set():
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            seen.append(pid)
        time.sleep(0.0005)


def work(number):
    while not ended.is_set():
        worked[number] += len([{"turn": [number] * 10} for _ in range(20)])
        time.sleep(0.001)


class Garbage:
    def __del__(self):
        time.sleep(0.5)


def collect():
    """A collection that takes a while and releases the GIL."""
    first, second = Garbage(), Garbage()
    first.other, second.other = second, first
    del first, second
    gc.collect()


class Hung(list):
    pass


def spoil(function):
    """Instances of Hung are traversed by a function of the C library, which never returns."""
    gc.disable()
    spoiled.append(Hung([1]))
    at = ctypes.c_void_p.from_address(id(Hung) + 184)  # tp_traverse, 3.11 to 3.15
    before.append(at.value)
    at.value = ctypes.cast(getattr(ctypes.CDLL(None), function), ctypes.c_void_p).value


def mend():
    ctypes.c_void_p.from_address(id(Hung) + 184).value = before.pop()
    spoiled.clear()


def fork():
    """A child says what it has inherited."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        names = []
        for fd in os.listdir("/proc/self/fd"):
            try:
                names.append(os.readlink(f"/proc/self/fd/{fd}"))
            except OSError:
                continue
        os.write(writer, json.dumps([n for n in names if "deleted" in n or "socket" in n]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        inherited.extend(json.loads(file.read()))
    os.waitpid(pid, 0)


def fork_often():
    while not ended.is_set():
        fork()
        forks[0] += 1


spoiled, before, inherited, forks = [], [], [], [0]


def state():
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    status = open("/proc/self/status").read()
    return {
        "signals": len(signals),
        "seen": seen,
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "tasks": len(os.listdir("/proc/self/task")),
        "mask": sorted(mask),
        "handlers": [line for line in status.splitlines() if line.startswith("Sig")][-1],
        "worked": sum(worked),
        "inherited": inherited,
        "forks": forks[0],
    }


if "server" in sys.argv:
    for number in range(len(worked)):
        threading.Thread(target=work, args=(number,), daemon=True).start()
if "forks" in sys.argv:
    threading.Thread(target=fork_often, daemon=True).start()
else:
    threading.Thread(target=wait, daemon=True).start()
print(os.getpid(), flush=True)
for line in sys.stdin:
    command, *arguments = line.split()
    if command == "collect":
        print("collecting", flush=True)
    answer = globals()[command](*arguments)
    print(json.dumps(answer), flush=True)
ended.set()
os.kill(own, signal.SIGKILL)
print("over")
sys.exit(7)
