"""The tables of event loops and their tasks, as tables.py has the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tasks:
    """Tasks and callbacks that something in the recording refers to, by process and id."""

    process: NDArray[np.uint32]
    id: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    """TASK, CALLBACK (all calls of a function) or TASK_GROUP (all tasks of a coroutine function
    that were only added up)."""
    name: list[str]
    function: NDArray[np.int32]
    """Of its coroutine, or the callback; -1: unknown."""
    parent: NDArray[np.uint64]
    """The id of the task that created it; 0: unknown."""
    created_ns: NDArray[np.int64]
    """-1: before it was recorded."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class TaskTimes:
    """What tasks did since their row before: to be summed."""

    process: NDArray[np.uint32]
    time: NDArray[np.int64]
    """The end of its last step."""
    task: NDArray[np.uint64]
    steps: NDArray[np.uint32]
    tasks: NDArray[np.uint32]
    """Of a group: how many ended."""
    running_ns: NDArray[np.int64]
    ready_ns: NDArray[np.int64]
    suspended_ns: NDArray[np.int64]
    caused_ns: NDArray[np.int64]
    """How long others were ready while it ran."""
    ended: NDArray[np.uint8]
    """1: this is its end."""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class TaskWaits:
    """Steps that began after a long wait."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    """When the step began: it was ready for `ready_ns` before, and suspended until then."""
    task: NDArray[np.uint64]
    ready_ns: NDArray[np.int64]
    suspended_ns: NDArray[np.int64]
    waker: NDArray[np.uint64]
    """The task that made it ready; 0: none."""
    woken: NDArray[np.uint8]
    """By whom, of WOKEN."""
    context: NDArray[np.int32]
    """Its coroutines as they were suspended; -1: unknown."""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class TaskSteps:
    """Steps that were long, or for which others waited long."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    task: NDArray[np.uint64]
    duration_ns: NDArray[np.int64]
    caused_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class LoopTimes:
    """How long callbacks of a thread's loop waited, since its row before."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    runtime: list[str]
    steps: NDArray[np.uint32]
    ready_ns: NDArray[np.int64]
    max_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class LoopLags:
    """How many of them waited for less than a time, and not for less than the one below."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    below_ns: NDArray[np.int64]
    count: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.time)
