"""Locks held over several functions while others wait; prints what of the waiting each caused.

    held.py HOLDS

A lock is held over `lookup`, which computes, and `fetch`, which sleeps. Functions and waiters time
themselves. The GIL is held by `hog` over `compute` and `check`, and released only in `pause`, so
that others wait for all of both.
"""

from __future__ import annotations

import json
import sys
import threading
import time

LOOKUP_S, FETCH_S = 0.004, 0.012
COMPUTE_S, CHECK_S = 0.006, 0.002
WAITERS = 2
executed: list[tuple[str, int, int]] = []
waited: list[tuple[int, int]] = []


def timed(name: str, began: int) -> None:
    executed.append((name, began, time.monotonic_ns()))


def spent() -> dict[str, int]:
    """Of each function: its time, of those that hold the lock once for every waiter then."""
    found: dict[str, int] = {}
    for name, began, ended in executed:
        waits = waited if name in ("lookup", "fetch", "settle") else [(began, ended)]
        overlaps = (min(ended, end) - max(began, start) for start, end in waits)
        found[name] = found.get(name, 0) + sum(ns for ns in overlaps if ns > 0)
    return found


def lookup() -> None:
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < LOOKUP_S * 1e9:
        pass
    timed("lookup", began)


def fetch() -> None:
    began = time.monotonic_ns()
    time.sleep(FETCH_S)
    timed("fetch", began)


def settle() -> None:
    """Until the others wait for the lock."""
    began = time.monotonic_ns()
    time.sleep(0.002)
    timed("settle", began)


def compute() -> None:
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < COMPUTE_S * 1e9:
        pass
    timed("compute", began)


def check() -> None:
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < CHECK_S * 1e9:
        pass
    timed("check", began)


def pause() -> None:
    time.sleep(0.0002)


def lock_rounds(holds: int) -> None:
    lock = threading.Lock()
    ready = threading.Barrier(WAITERS + 1)
    over = threading.Barrier(WAITERS + 1)

    def holder() -> None:
        for _ in range(holds):
            with lock:
                ready.wait()
                settle()
                lookup()
                fetch()
            over.wait()

    def waiter() -> None:
        for _ in range(holds):
            ready.wait()
            began = time.monotonic_ns()
            with lock:
                waited.append((began, time.monotonic_ns()))
            over.wait()

    run([holder, *[waiter] * WAITERS])


def gil_rounds(holds: int) -> None:
    sys.setswitchinterval(1.0)
    done = threading.Event()

    def hog() -> None:
        for _ in range(holds):
            compute()
            check()
            pause()
        done.set()

    def victim() -> None:
        while not done.is_set():
            time.sleep(0)

    run([hog, *[victim] * WAITERS])


def run(targets: list) -> None:
    threads = [threading.Thread(target=target, name=target.__name__) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    lock_rounds(int(sys.argv[1]))
    gil_rounds(int(sys.argv[1]))
    print(json.dumps({"spent": spent()}))
