"""Programs whose threads wait for each other: each is a function that does one round of work.

Threads live as long as the process, so that a round is waiting and working, not starting threads.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
import json
import logging
import os
import queue
import threading
from collections.abc import Callable

from workloads.programs import Work

THREADS = 8


class _Crew:
    """Threads that all do the same when told."""

    def __init__(self, job: Callable[[], object], threads: int = THREADS) -> None:
        self._job = job
        self._begin: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._end: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._threads = threads
        for _ in range(threads):
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._begin.get()
            self._job()
            self._end.put(1)

    def round(self) -> None:
        for _ in range(self._threads):
            self._begin.put(1)
        for _ in range(self._threads):
            self._end.get()


def _counter() -> Work:
    """Nothing but a lock: all the threads do is count under it."""
    lock = threading.Lock()
    count = 0

    def add() -> None:
        nonlocal count
        for _ in range(3_000):
            with lock:
                count += 1

    return _Crew(add).round


def _pool() -> Work:
    """A pool whose tasks parse something and put what they found into one dictionary."""
    pool = concurrent.futures.ThreadPoolExecutor(THREADS)
    lock = threading.Lock()
    shared: dict[str, int] = {}
    texts = [
        json.dumps([{"name": f"key-{n * 7 % 97}", "size": n} for n in range(start, start + 60)])
        for start in range(16)
    ]

    def task(text: str) -> int:
        found = 0
        for entry in json.loads(text):
            name, size = entry["name"], entry["size"]
            with lock:
                shared[name] = shared.get(name, 0) + size
            found += 1
        return found

    return lambda: sum(pool.map(task, texts * 8))


def _logging() -> Work:
    """A server's threads that have much to say: every line is written at once, under a lock."""
    handler = logging.StreamHandler(open(os.devnull, "w"))  # noqa: SIM115
    handler.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(name)s: %(message)s"))
    logger = logging.Logger("server", logging.INFO)
    logger.addHandler(handler)

    def serve() -> None:
        for number in range(60):
            body = json.dumps({"request": number, "items": list(range(40))})
            logger.info("request %d: %d bytes", number, len(body))

    return _Crew(serve).round


# ---- alone: what a lock and the GIL cost when nobody else wants them

PAIRS = 20_000


def _pairs() -> Work:
    lock = threading.Lock()
    acquire, release = lock.acquire, lock.release

    def pairs() -> None:
        for _ in range(PAIRS):
            acquire()
            release()

    return pairs


CYCLES = 10_000


def _gil_cycles() -> Work:
    absolute = ctypes.CDLL(None).abs  # does nothing, but without the GIL
    argument = ctypes.c_int(1)

    def cycles() -> None:
        for _ in range(CYCLES):
            absolute(argument)

    return cycles


PROGRAMS: dict[str, Callable[[], Work]] = {
    "counter": _counter,
    "pool": _pool,
    "logging": _logging,
}
ALONE: dict[str, tuple[Callable[[], Work], int]] = {
    "acquire and release": (_pairs, PAIRS),
    "GIL let go and taken": (_gil_cycles, CYCLES),
}
