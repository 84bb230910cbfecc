"""The tables of what threads, processors and the machine used, as tables.py has the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Metrics:
    """What threads used since their row before; -1: not counted on that machine."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    run_delay_ns: NDArray[np.int64]
    """Ready to run, and standing in the queue of a processor."""
    voluntary: NDArray[np.int64]
    """Switches to another thread because this one waited; `involuntary`: though it could run."""
    involuntary: NDArray[np.int64]
    migrations: NDArray[np.int64]
    minor_faults: NDArray[np.int64]
    major_faults: NDArray[np.int64]
    cycles: NDArray[np.int64]
    instructions: NDArray[np.int64]
    cache_misses: NDArray[np.int64]
    branch_misses: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Machine:
    """What all processors did since the row before, and what a process's group was kept from."""

    process: NDArray[np.uint32]
    time: NDArray[np.int64]
    busy_ns: NDArray[np.int64]
    """With the time that was stolen."""
    idle_ns: NDArray[np.int64]
    steal_ns: NDArray[np.int64]
    throttled_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Processors:
    """What single processors did since their row before, as seen with one process."""

    process: NDArray[np.uint32]
    time: NDArray[np.int64]
    processor: NDArray[np.uint32]
    busy_ns: NDArray[np.int64]
    """With the time that was stolen."""
    steal_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)
