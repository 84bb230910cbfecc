"""Threads that compute against threads that want the GIL every few milliseconds.

gil.py LIBRARY      the library made from doze.c
"""

import ctypes
import os
import sys
import threading

from ledger import Waiting, now, tell

doze = ctypes.CDLL(sys.argv[1]).doze
doze.restype = None
SLEEP = ctypes.c_long(5_000_000)
schedstat = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
asked = (ctypes.c_longlong * 3)()

scenarios = {
    "burner": {
        "kind": "gil",
        "waiter": "take_burner",
        "owners": ["burn"],
        "signal": True,
        "by": "chain",
    },
    "two": {
        "kind": "gil",
        "waiter": "take_two",
        "owners": ["burn_here", "burn_there"],
        "signal": True,
        "by": "chain",
    },
}


def work():
    total = 0
    for n in range(1000):
        total += n * n
    return total


def burn(over):
    while not over:
        work()


def burn_here(over):
    while not over:
        work()


def burn_there(over):
    while not over:
        work()


def take_burner():
    doze(SLEEP, schedstat, asked)


def take_two():
    doze(SLEEP, schedstat, asked)


def run(scenario, take, burners, seconds):
    until = now() + int(seconds * 1e9)
    over = []  # no burner may end while somebody waits for it: it would let the GIL go outside burn
    threads = [threading.Thread(target=burner, args=(over,)) for burner in burners]
    for thread in threads:
        thread.start()
    while now() < until:
        waiting = Waiting(scenario)
        take()
        waiting.over(asked)
    over.append(True)
    for thread in threads:
        thread.join()


run("burner", take_burner, [burn], 0.8)
run("two", take_two, [burn_here, burn_there], 0.8)
tell(scenarios)
