"""Time and memory of views over many locks are bounded by the size of the tables."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sonde.model.locks import contention, wait_chains
from sonde.recording.tables import (
    Contexts,
    Functions,
    LockEvents,
    Locks,
    Marks,
    Process,
    Recording,
    Samples,
    Threads,
)
from sonde.row_values import ACQUIRED, RELEASED, WAIT_BEGIN
from sonde.views.findings.findings import findings
from sonde.views.locks.lock_table import lock_table
from sonde.views.locks.locks import locks
from sonde.views.locks.wait_graph import waits
from sonde.views.threads import threads
from sonde.web.bundle import Bundle

THREADS = 8
WAITER, HOLDER = 1, 2
"""Contexts."""
MAX_TIMES_TABLES = 10
NUMBERS_OF_THE_PARSER = 1 << 20
"""Bytes for what does not grow with the recording: compiled expressions, caches."""


def walked(count: int) -> Recording:
    """Eight threads walk over so many locks one behind the other, and wait at each."""
    rows: list[tuple[int, ...]] = []
    sequence = [0] * count
    now = 0

    def add(thread: int, lock: int, kind: int, context: int) -> None:
        sequence[lock] += 1
        rows.append((thread, now, lock, sequence[lock], kind, context))

    for lock in range(count):
        queue = [(lock + place) % THREADS for place in range(THREADS)]
        for thread in queue[1:]:
            now += 100
            add(thread, lock, WAIT_BEGIN, WAITER)
        for holder, waiter in pairwise(queue):
            now += 5_000
            add(holder, lock, RELEASED, HOLDER)
            now += 500
            add(waiter, lock, ACQUIRED, -1)
    thread_, time, lock_, number, kind_, context = np.array(rows, dtype=np.int64).T
    return Recording(
        path="walked.sonde",
        target={"duration_ns": now},
        processes=[Process(1, 0, "cpython", "3.12.1", "/usr/bin/python3", ["a.py"], 0, now)],
        threads=Threads(
            np.zeros(THREADS, np.uint32),
            np.arange(1, THREADS + 1, dtype=np.uint32),
            [f"walker-{i}" for i in range(THREADS)],
            np.zeros(THREADS, np.uint32),
            np.zeros(THREADS, np.int64),
            np.full(THREADS, -1, np.int64),
            np.full(THREADS, -1, np.int64),
        ),
        functions=Functions(
            ["main", "walk", "hold"], ["/a.py"] * 3, np.array([1, 2, 3], np.int32), ["cpython"] * 3
        ),
        contexts=Contexts(*(np.array(c, np.int32) for c in ([-1, 0, 0], [0, 1, 2], [1, 2, 3]))),
        samples=Samples(*(np.zeros(0, t) for t in (np.uint32, "i8", np.int32, "i8", np.uint8))),
        marks=Marks(np.zeros(0, np.int64), np.zeros(0, np.int32), [], np.zeros(0, np.int64)),
        quality={},
        locks=Locks(
            np.zeros(count, np.uint32),
            np.arange(count, dtype=np.uint64) * 64 + 64,
            ["semaphore"] * count,
        ),
        lock_events=LockEvents(
            thread_.astype(np.uint32),
            time,
            lock_.astype(np.uint32),
            number.astype(np.uint64),
            kind_.astype(np.uint8),
            context.astype(np.int32),
        ),
    )


def table_bytes(recording: Recording) -> int:
    tables = (table for table in vars(recording).values() if hasattr(table, "__dict__"))
    columns = (column for table in tables for column in vars(table).values())
    return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))


def page_parts(recording: Recording) -> None:
    made = Bundle(recording, sources=False)
    for part in ("meta", "contexts", "samples", "waits"):
        made.part(part)


VIEWS: dict[str, Any] = {
    "findings": findings,
    "locks": locks,
    "lock-table": lock_table,
    "threads": threads,
    "waits": waits,
    "web UI": page_parts,
}


@pytest.mark.parametrize("view", VIEWS)
def test_memory_of_every_view_is_at_most_ten_times_the_tables(view: str) -> None:
    recording = walked(1_200)
    tracemalloc.start()
    try:
        VIEWS[view](recording)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= MAX_TIMES_TABLES * table_bytes(recording) + NUMBERS_OF_THE_PARSER


def test_parts_of_waits_looked_at_grow_with_the_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    real = contention.blames_at
    open_store: list[int] = []

    def counted(found: Any, contention: Any, place: Any) -> Any:
        open_store.append(len(contention))
        return real(found, contention, place)

    monkeypatch.setattr(wait_chains, "blames_at", counted)
    work = []
    for count in (200, 400, 800):
        open_store.clear()
        recording = walked(count)
        locks(recording, by=("lock",))
        work.append(sum(open_store) / len(recording.lock_events))
    assert max(work) <= 4
    assert work[2] <= 1.1 * work[0] + 0.1
