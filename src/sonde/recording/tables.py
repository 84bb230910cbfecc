"""The tables of an opened recording: plain data, one dataclass per table.

Columns of numbers are NumPy arrays, columns of text are lists; row `i` of every
column of one table belongs together, and a row's number is its id. Times are
integer nanoseconds since the start of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

RUNNING = 0
WAITING = 1
PREEMPTED = 2
"""Off the processor although it could run; counted with the waiting time."""


@dataclass(frozen=True)
class Process:
    """One process the recording followed; threads point at its index."""

    pid: int
    ppid: int
    runtime: str
    version: str
    executable: str
    argv: list[str]
    start_ns: int
    end_ns: int | None = None
    """None: it still ran when the recording ended, or nobody saw its end."""
    exit: str | None = None


@dataclass(frozen=True)
class Threads:
    """Threads; one that runs two interpreters has two rows."""

    process: NDArray[np.uint32]
    tid: NDArray[np.uint32]
    name: list[str]
    interpreter: NDArray[np.uint32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    """-1: it still ran when the recording ended, or nobody saw its end."""
    cpu_ns: NDArray[np.int64]
    """CPU time of the row's life as the kernel counts it; -1: unknown."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Functions:
    """Functions by qualified name; built-in ones have file "<built-in>" and line 0."""

    name: list[str]
    file: list[str]
    line: NDArray[np.int32]
    runtime: list[str]

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Contexts:
    """The calling context tree; `parent` is -1 for a root and else less than the own id."""

    parent: NDArray[np.int32]
    function: NDArray[np.int32]
    line: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True)
class Samples:
    """Samples in the order they were written: ascending in time within one thread."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    context: NDArray[np.int32]
    """-1: the sample was taken but its stack could not be decoded."""
    weight: NDArray[np.int64]
    state: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class Marks:
    """Moments the program or the user named; `thread` -1: of no thread."""

    time: NDArray[np.int64]
    thread: NDArray[np.int32]
    text: list[str]

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class Recording:
    """Everything one file says."""

    path: str
    target: dict[str, Any]
    processes: list[Process]
    threads: Threads
    functions: Functions
    contexts: Contexts
    samples: Samples
    marks: Marks
    quality: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    """Sentences about what the file could not tell, e.g. that its end is missing."""
