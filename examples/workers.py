#!/usr/bin/env python3
"""Worker processes with two problems: one gets most of the work, and each waits for its journal.

    sonde run -o workers.sonde examples/workers.py
    sonde run -o fixed.sonde examples/workers.py --fixed

- the texts are divided by number, not by length, so that the last worker has most of the work;
- a second thread saves all results so far every 0.1 s, in one long C call that holds the GIL.

Both variants count the words of the same texts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable

WORKERS = 3
TEXTS = 48
LONGEST = 12_000
EVERY_S = 0.1
PAST = 400_000

Entry = tuple[int, int]


class Journal(threading.Thread):
    """Saves the results of a worker, for the case that it is interrupted."""

    def __init__(self, path: str) -> None:
        super().__init__(name="journal")
        self.path = path
        # What earlier runs have found.
        self.entries: list[Entry] = [(number, number % 97) for number in range(PAST)]
        self.ended = threading.Event()

    def __enter__(self) -> Journal:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()

    def run(self) -> None:
        while not self.ended.wait(EVERY_S):
            self.save()
        self.save()

    def save(self) -> None:
        everything = json.dumps(self.entries)
        with open(self.path, "w") as file:
            file.write(everything)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)


class LineJournal:
    """Appends each result to what earlier runs have saved."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "a", buffering=1)  # noqa: SIM115

    def __enter__(self) -> LineJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, entry: Entry) -> None:
        self.file.write(json.dumps(entry) + "\n")


def texts() -> list[tuple[int, int]]:
    """Number and length of each, the short ones first."""
    return [(number, LONGEST * number**2 // TEXTS**2) for number in range(TEXTS)]


def count_words(number: int, length: int) -> int:
    draw = random.Random(number)
    words: Counter[str] = Counter()
    for _ in range(length):
        words.update(str(draw.randrange(1000)) for _ in range(20))
    return len(words)


def work(
    mine: Iterable[tuple[int, int]] | None,
    queue: multiprocessing.SimpleQueue[tuple[int, int] | None],
    folder: str,
) -> None:
    """Does its part of the texts, or what it gets from the queue."""
    path = os.path.join(folder, f"{os.getpid()}.json")
    with LineJournal(path) if mine is None else Journal(path) as journal:
        for number, length in iter(queue.get, None) if mine is None else mine:
            journal.add((number, count_words(number, length)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Worker processes with two problems.")
    parser.add_argument("--fixed", action="store_true", help="without the problems")
    fixed = parser.parse_args().fixed
    began = time.perf_counter()
    start = multiprocessing.get_context("fork")
    queue: multiprocessing.SimpleQueue[tuple[int, int] | None] = start.SimpleQueue()
    todo, each = texts(), TEXTS // WORKERS
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            start.Process(
                target=work,
                args=(None if fixed else todo[n * each : (n + 1) * each], queue, folder),
                name=f"worker-{n + 1}",
            )
            for n in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        if fixed:
            # The longest first: whoever is free takes the next one.
            for text in [*reversed(todo), *[None] * WORKERS]:
                queue.put(text)
        for worker in workers:
            worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a worker failed")
    print(f"{TEXTS} texts in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
