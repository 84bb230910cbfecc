"""Recordings of a size that nobody waits for: written by hand, block by block as a recorder does.

    scale_recordings.py SHAPE PATH [SAMPLES]

Each shape is large in one way: samples, functions, locks, depth of stacks, processes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sonde.recording.write.writer import Writer

FLUSH = 100
"""Samples in one flush: 100 ms of one thread at 1000 Hz."""
PERIOD_NS = 1_000_000
SAMPLES, FUNCTIONS, LOCKS, DEPTH, PROCESSES = 10_000_000, 200_000, 10_000, 3_000, 2_000
THREADS = 8
SMALL_SAMPLES = 100_000
"""Samples in recordings that are large in another way."""


def write(shape: str, path: Path, samples: int | None = None) -> None:
    from sonde.recording.write.writer import Writer

    target = {"program": "scale.py", "argv": ["scale.py"], "pid": 100, "rate": 1000}
    writer = Writer(path, target)
    end = SHAPES[shape](writer, samples)
    writer.quality({"sampler": "perf", "rate_asked": 1000, "lost": 0, "undecodable": 0})
    writer.close({"duration_ns": end})


def of_samples(writer: Writer, samples: int | None) -> int:
    """Many samples of 8 threads in a tree of ordinary size."""
    _process(writer, 0, THREADS)
    _functions(writer, 2_000)
    return _samples(writer, samples or SAMPLES, _tree(writer, 50_000, 2_000, 40))


def of_functions(writer: Writer, samples: int | None) -> int:
    """A program of generated code."""
    _process(writer, 0, THREADS)
    _functions(writer, FUNCTIONS)
    return _samples(writer, samples or SMALL_SAMPLES, _tree(writer, 2 * FUNCTIONS, FUNCTIONS, 60))


def of_locks(writer: Writer, samples: int | None) -> int:
    """Threads that walk over many locks one behind the other."""
    from sonde.row_values import ACQUIRED, RELEASED, WAIT_BEGIN

    _process(writer, 0, THREADS)
    _functions(writer, 3)
    for parent, function in ((-1, 0), (0, 1), (0, 2)):
        writer.append("contexts", parent, function, function + 1)
    for lock in range(LOCKS):
        writer.append("locks", 0, 64 * (lock + 1), "semaphore", "")
    now = 0
    for lock in range(LOCKS):
        queue = [(lock + place) % THREADS for place in range(THREADS)]
        number = 0
        for waiter in queue[1:]:
            now, number = now + 100, number + 1
            writer.append("lock_events", waiter, now, lock, number, WAIT_BEGIN, 1, -1)
        for holder, waiter in pairwise(queue):
            writer.append("lock_events", holder, now + 5_000, lock, number + 1, RELEASED, 2, -1)
            writer.append("lock_events", waiter, now + 5_500, lock, number + 2, ACQUIRED, -1, -1)
            now, number = now + 5_500, number + 2
        if lock % 20 == 0:
            writer.flush()
    return max(now, _samples(writer, samples or SMALL_SAMPLES, 3))


def of_depth(writer: Writer, samples: int | None) -> int:
    """A recursion that is seen at every depth."""
    _process(writer, 0, THREADS)
    _functions(writer, 10)
    for chain in range(10):
        for level in range(DEPTH):
            parent = chain * DEPTH + level - 1 if level else -1
            writer.append("contexts", parent, (chain + level) % 10, 7 + level % 8)
    return _samples(writer, samples or SMALL_SAMPLES, 10 * DEPTH)


def of_processes(writer: Writer, samples: int | None) -> int:
    """A pool whose workers come and go."""
    for process in range(PROCESSES):
        _process(writer, process, 1)
    _functions(writer, 500)
    tree = _tree(writer, 5_000, 500, 40)
    return _samples(writer, samples or SMALL_SAMPLES, tree, PROCESSES)


SHAPES: dict[str, Callable[[Writer, int | None], int]] = {
    "samples": of_samples,
    "functions": of_functions,
    "locks": of_locks,
    "depth": of_depth,
    "processes": of_processes,
}


def _process(writer: Writer, number: int, threads: int) -> None:
    pid = 100 + number
    command = ["scale.py", str(number)]
    writer.append("processes", pid, 1, "cpython", "3.12.1", "/usr/bin/python3", command, 0, -1, "")
    for thread in range(threads):
        writer.append("threads", number, 10_000 * number + thread + 1, f"worker-{thread}")


def _functions(writer: Writer, count: int) -> None:
    for number in range(count):
        module = f"/app/package_{number % 40}/module_{number % 2_000}.py"
        writer.append("functions", f"Class{number % 300}.method_{number}", module, 7, "cpython")
        if number % 5_000 == 0:
            writer.flush()


def _tree(writer: Writer, contexts: int, functions: int, depth: int) -> int:
    draw = np.random.default_rng(1)
    near = draw.integers(1, 400, contexts).tolist()
    function = draw.integers(0, functions, contexts).tolist()
    depths: list[int] = []
    for row in range(contexts):
        parent = max(row - near[row], -1)
        if parent >= 0 and depths[parent] >= depth:
            parent = parent % 10
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        writer.append("contexts", parent, function[row], 7 + row % 8)
        if row % 5_000 == 0:
            writer.flush()
    return contexts


def _samples(writer: Writer, samples: int, contexts: int, threads: int = THREADS) -> int:
    """Few contexts are hot, ticks scatter by some microseconds; a flush every `FLUSH`."""
    draw = np.random.default_rng(2)
    now = 0
    for done in range(0, samples, 1_000 * FLUSH):
        count = min(1_000 * FLUSH, samples - done)
        thread = np.sort(draw.integers(0, threads, (count // FLUSH or 1, FLUSH)), axis=1).ravel()
        time = now + np.arange(count) * PERIOD_NS + draw.integers(0, 20_000, count)
        context = (contexts * draw.random(count) ** 3).astype(np.int64)
        weight = PERIOD_NS + draw.integers(-20_000, 20_000, count)
        state = (draw.random(count) < 0.1).astype(np.int64)
        columns = (column.tolist() for column in (thread[:count], time, context, weight, state))
        rows = [(*row, -1, -1, 0) for row in zip(*columns, strict=True)]
        for start in range(0, count, FLUSH):
            writer.extend("samples", rows[start : start + FLUSH])
            writer.quality({"taken": done + start + FLUSH})
            writer.flush()
        now += count * PERIOD_NS
    return now


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else None)
