"""Recordings made by hand, event by event, so that every figure of a view can be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.recording.tables import (
    Calls,
    Contexts,
    Functions,
    LockEvents,
    Locks,
    Marks,
    Process,
    Recording,
    Samples,
    Spans,
    Threads,
    Windows,
)
from sonde.row_values import ACQUIRED, GAVE_UP, OWNER_OBSERVED, RELEASED, WAIT_BEGIN

APP = "/app/app.py"
MS = 1_000_000


class Maker:
    """Collects samples written as chains such as "main:3 > work:12 > time.sleep".

    A frame with a line is of a Python function (in APP, its first line 1, unless
    defined otherwise), one without a line is of a built-in function.
    """

    def __init__(self, **target: Any) -> None:
        self.target = {
            "program": "app.py",
            "argv": ["app.py"],
            "pid": 100,
            "duration_ns": 1_000 * MS,
        } | target
        self.processes = [
            Process(100, 1, "cpython", "3.12.1", "/usr/bin/python3", ["app.py"], 0, 1_000 * MS)
        ]
        self.quality: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.places: dict[str, tuple[str, int]] = {}
        self.threads: dict[str, list[int]] = {}
        self.functions: dict[tuple[str, str, int, int], int] = {}
        self.contexts: dict[tuple[int, int, int], int] = {}
        self.samples: list[tuple[int, int, int, int, int, int]] = []
        self.marks: list[tuple[int, int, str]] = []
        self.clock: dict[int, int] = {}
        self.locks: dict[str, tuple[int, int, str]] = {}
        self.lock_events: list[tuple[int, int, int, int, int, int, int]] = []
        self.spans: list[tuple[int, int, int, str, int]] = []
        self.attributes: list[dict[str, str]] = []
        """By span."""
        self.windows: list[tuple[int, int, int, int, int, int]] = []
        self.calls: list[tuple[int, int, int, int]] = []
        self.numbers: dict[int, int] = {}

    def define(self, name: str, file: str, line: int) -> None:
        self.places[name] = (file, line)

    def process(self, pid: int) -> int:
        self.processes.append(
            Process(pid, 100, "cpython", "3.12.1", "/usr/bin/python3", ["child.py"], 0, None)
        )
        return len(self.processes) - 1

    def thread(
        self,
        name: str,
        *,
        process: int = 0,
        start: int = 0,
        end: int = -1,
        cpu: int = -1,
    ) -> int:
        if name not in self.threads:
            tid = 1000 + len(self.threads)
            self.threads[name] = [process, tid, start, end, cpu]
        return list(self.threads).index(name)

    def sample(
        self,
        chain: str | None,
        ns: int = MS,
        *,
        thread: str = "MainThread",
        state: int = 0,
        time: int | None = None,
        version: int = 0,
        span: int = -1,
    ) -> None:
        """`version` tells code objects apart that read the same; time runs on by itself."""
        row = self.thread(thread)
        at = self.clock.get(row, 0) + ns if time is None else time
        self.clock[row] = at
        self.samples.append((row, at, self.context(chain, version), ns, state, span))

    def context(self, chain: str | None, version: int = 0) -> int:
        context = -1
        for frame in chain.split(" > ") if chain is not None else []:
            name, _, line = frame.partition(":")
            file, first = self.places.get(name, (APP, 1)) if line else ("<built-in>", 0)
            function = self.functions.setdefault((name, file, first, version), len(self.functions))
            key = (context, function, int(line or 0))
            context = self.contexts.setdefault(key, len(self.contexts))
        return context

    def lock(self, name: str, made_of: str = "semaphore", *, process: int = 0) -> int:
        """The row of a lock; its address follows from that."""
        self.locks.setdefault(name, (process, 0x1000 * (len(self.locks) + 1), made_of))
        return list(self.locks).index(name)

    def event(
        self,
        type_: int,
        lock: str,
        thread: str,
        time: int,
        chain: str | None = None,
        span: int = -1,
    ) -> None:
        """The next thing that happened to a lock, as its numbers have it."""
        row = self.lock(lock)
        self.numbers[row] = self.numbers.get(row, 0) + 1
        self.lock_events.append(
            (self.thread(thread), time, row, self.numbers[row], type_, self.context(chain), span)
        )

    def enter(
        self, lock: str, thread: str, time: int, chain: str = "wait:1", span: int = -1
    ) -> None:
        self.event(WAIT_BEGIN, lock, thread, time, chain, span)

    def entered(self, lock: str, thread: str, time: int) -> None:
        self.event(ACQUIRED, lock, thread, time)

    def gave_up(self, lock: str, thread: str, time: int) -> None:
        self.event(GAVE_UP, lock, thread, time)

    def release(self, lock: str, thread: str, time: int, chain: str | None = "hold:1") -> None:
        self.event(RELEASED, lock, thread, time, chain)

    def held(self, lock: str, thread: str, time: int, chain: str = "hold:1") -> None:
        self.event(OWNER_OBSERVED, lock, thread, time, chain)

    def wait(
        self,
        lock: str,
        waiter: str,
        owner: str,
        start: int,
        end: int,
        waits: str = "wait:1",
        holds: str | None = "hold:1",
    ) -> None:
        """One wait with one owner, who lets go when it ends."""
        self.enter(lock, waiter, start, waits)
        self.release(lock, owner, end, holds)
        self.entered(lock, waiter, end)

    def span(
        self,
        name: str,
        /,
        start: int,
        end: int = -1,
        *,
        thread: str = "MainThread",
        parent: int = -1,
        **attributes: str,
    ) -> int:
        """Its row, for what lies in it; `end` -1: it is not left."""
        self.attributes.append(attributes)
        self.spans.append((self.thread(thread), start, end, name, parent))
        return len(self.spans) - 1

    def window(
        self,
        chains: Sequence[str | None],
        start: int,
        length: int,
        *,
        thread: str = "MainThread",
        stride: int = 3,
        cut: int = 0,
    ) -> None:
        """Calls counted in a window; each chain ends in what was called."""
        calls = [(len(self.windows), self.context(chain), 0, -1) for chain in chains]
        self.windows.append((self.thread(thread), start, length, stride, cut, 1))
        self.calls += calls

    def mark(self, text: str, time: int, thread: int = -1) -> None:
        self.marks.append((time, thread, text))

    def recording(self, path: str = "app.sonde") -> Recording:
        threads, functions, contexts = self.threads, self.functions, self.contexts
        samples = np.array(self.samples, dtype=np.int64).reshape(-1, 6)
        rows = np.array(list(threads.values()), dtype=np.int64).reshape(-1, 5)
        tree = np.array(list(contexts), dtype=np.int32).reshape(-1, 3)
        events = np.array(self.lock_events, dtype=np.int64).reshape(-1, 7)
        windows = np.array(self.windows, dtype=np.int64).reshape(-1, 6)
        calls = np.array(self.calls, dtype=np.int64).reshape(-1, 4)
        return Recording(
            path,
            self.target,
            self.processes,
            Threads(
                rows[:, 0].astype(np.uint32),
                rows[:, 1].astype(np.uint32),
                list(threads),
                np.zeros(len(threads), dtype=np.uint32),
                rows[:, 2],
                rows[:, 3],
                rows[:, 4],
            ),
            Functions(
                [name for name, _, _, _ in functions],
                [file for _, file, _, _ in functions],
                np.array([line for _, _, line, _ in functions], dtype=np.int32),
                ["cpython"] * len(functions),
            ),
            Contexts(tree[:, 0], tree[:, 1], tree[:, 2]),
            Samples(
                samples[:, 0].astype(np.uint32),
                samples[:, 1],
                samples[:, 2].astype(np.int32),
                samples[:, 3],
                samples[:, 4].astype(np.uint8),
                samples[:, 5].astype(np.int32),
            ),
            Marks(
                np.array([time for time, _, _ in self.marks], dtype=np.int64),
                np.array([thread for _, thread, _ in self.marks], dtype=np.int32),
                [text for _, _, text in self.marks],
                np.zeros(len(self.marks), dtype=np.int64),
            ),
            self.quality,
            self.warnings,
            Locks(
                np.array([process for process, _, _ in self.locks.values()], dtype=np.uint32),
                np.array([address for _, address, _ in self.locks.values()], dtype=np.uint64),
                [made_of for _, _, made_of in self.locks.values()],
            ),
            LockEvents(
                events[:, 0].astype(np.uint32),
                events[:, 1],
                events[:, 2].astype(np.uint32),
                events[:, 3].astype(np.uint64),
                events[:, 4].astype(np.uint8),
                events[:, 5].astype(np.int32),
                events[:, 6].astype(np.int32),
            ),
            spans=Spans(
                np.array([thread for thread, *_ in self.spans], dtype=np.uint32),
                np.array([start for _, start, *_ in self.spans], dtype=np.int64),
                np.array([end for _, _, end, *_ in self.spans], dtype=np.int64),
                [name for *_, name, _ in self.spans],
                np.array([parent for *_, parent in self.spans], dtype=np.int32),
                self.attributes,
            ),
            windows=Windows(
                windows[:, 0].astype(np.uint32),
                windows[:, 1],
                windows[:, 2],
                windows[:, 3].astype(np.uint32),
                windows[:, 4].astype(np.uint8),
                windows[:, 5].astype(np.uint8),
            ),
            calls=Calls(
                calls[:, 0].astype(np.int32),
                calls[:, 1].astype(np.int32),
                calls[:, 2].astype(np.uint32),
                calls[:, 3],
                np.zeros(len(calls), dtype=np.uint8),
            ),
        )

    def write(self, path: str) -> str:
        """The same recording as a file."""
        from sonde.recording.write.writer import Writer

        writer = Writer(path, self.target)
        for p in self.processes:
            end = -1 if p.end_ns is None else p.end_ns
            writer.append(
                "processes", p.pid, p.ppid, p.runtime, p.version, p.executable, p.argv,
                p.start_ns, end, p.exit or "",
            )  # fmt: skip
        for name, (process, tid, start, end, cpu) in self.threads.items():
            writer.append("threads", process, tid, name, 0, start, end, cpu)
        for name, file, line, _ in self.functions:
            writer.append("functions", name, file, line, "cpython")
        for parent, function, line in self.contexts:
            writer.append("contexts", parent, function, line)
        for i, (thread, start, end, name, parent) in enumerate(self.spans):
            writer.append("spans", thread, start, name, parent)
            if end >= 0:
                writer.append("span_ends", i, end)
            for key, value in self.attributes[i].items():
                writer.append("span_attributes", i, key, value)
        for row in self.samples:
            writer.append("samples", *row)
        for time, thread, text in self.marks:
            writer.append("marks", time, thread, text)
        for made in self.locks.values():
            writer.append("locks", *made)
        for event in self.lock_events:
            writer.append("lock_events", *event)
        for window in self.windows:
            writer.append("windows", *window)
        for call in self.calls:
            writer.append("calls", *call)
        writer.quality(self.quality)
        writer.close({})
        return path
