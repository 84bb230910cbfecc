"""Recordings made by hand, sample by sample, so that every figure of a view can be known."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.recording.tables import (
    Contexts,
    Functions,
    Marks,
    Process,
    Recording,
    Samples,
    Threads,
)

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
        self.samples: list[tuple[int, int, int, int, int]] = []
        self.marks: list[tuple[int, int, str]] = []
        self.clock: dict[int, int] = {}

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
    ) -> None:
        """`version` tells code objects apart that read the same; time runs on by itself."""
        row = self.thread(thread)
        at = self.clock.get(row, 0) + ns if time is None else time
        self.clock[row] = at
        context = -1
        for frame in chain.split(" > ") if chain is not None else []:
            name, _, line = frame.partition(":")
            file, first = self.places.get(name, (APP, 1)) if line else ("<built-in>", 0)
            function = self.functions.setdefault((name, file, first, version), len(self.functions))
            key = (context, function, int(line or 0))
            context = self.contexts.setdefault(key, len(self.contexts))
        self.samples.append((row, at, context, ns, state))

    def mark(self, text: str, time: int, thread: int = -1) -> None:
        self.marks.append((time, thread, text))

    def recording(self, path: str = "app.sonde") -> Recording:
        threads, functions, contexts = self.threads, self.functions, self.contexts
        samples = np.array(self.samples, dtype=np.int64).reshape(-1, 5)
        rows = np.array(list(threads.values()), dtype=np.int64).reshape(-1, 5)
        tree = np.array(list(contexts), dtype=np.int32).reshape(-1, 3)
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
            ),
            Marks(
                np.array([time for time, _, _ in self.marks], dtype=np.int64),
                np.array([thread for _, thread, _ in self.marks], dtype=np.int32),
                [text for _, _, text in self.marks],
            ),
            self.quality,
            self.warnings,
        )

    def write(self, path: str) -> str:
        """The same recording as a file."""
        from sonde.recording.writer import Writer

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
        for row in self.samples:
            writer.append("samples", *row)
        for time, thread, text in self.marks:
            writer.append("marks", time, thread, text)
        writer.quality(self.quality)
        writer.close({})
        return path
