"""The tables of event loops and their tasks, as tables.py has the others."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    object: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The address of what the innermost one is a method of; 0: unknown. Left out: unknown."""

    def __post_init__(self) -> None:
        if not len(self.object):
            object.__setattr__(self, "object", np.zeros(len(self.time), np.uint64))

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class TaskResumptions:
    """Who made tasks ready that had been suspended for long."""

    thread: NDArray[np.uint32]
    """That did so."""
    time: NDArray[np.int64]
    task: NDArray[np.uint64]
    waker: NDArray[np.uint64]
    """The task that did so; 0: none."""
    woken: NDArray[np.uint8]
    since_ns: NDArray[np.int64]
    """How long before this the thread had done so last; -1: unknown."""
    function: NDArray[np.int32]
    """What the thread had run for an executor; -1: nothing."""
    context: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class TaskAwaiters:
    """From when on a task was awaited by which one."""

    process: NDArray[np.uint32]
    time: NDArray[np.int64]
    task: NDArray[np.uint64]
    awaiter: NDArray[np.uint64]
    context: NDArray[np.int32]
    """The awaiter's coroutines as they were suspended; -1: unknown."""

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
