"""The tables of the call flow, as tables.py has the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FlowRuns:
    """How the call flow of a process was recorded; each row counts what came since the last one."""

    process: NDArray[np.uint32]
    time: NDArray[np.int64]
    metric: list[str]
    """One of METRICS."""
    calibrated: NDArray[np.uint8]
    """1: the cost of recording is known, and stated as overhead."""
    residual: NDArray[np.float64]
    """What calibration leaves of the cost of an event, in the unit of the metric."""
    events: NDArray[np.int64]
    unlearnt: NDArray[np.int64]
    """Events in a sequence that calibration did not have; their overhead is an estimate."""
    lost_calls: NDArray[np.int64]
    """Calls whose context found no room; their metric counts for the function that made them."""
    lost_events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.metric)


METRICS = ("cpu", "wall", "instructions", "page-faults", "context-switches")


@dataclass(frozen=True)
class Flow:
    """What happened in the calling contexts of threads; several rows of one add up."""

    thread: NDArray[np.uint32]
    context: NDArray[np.int32]
    """Its lines are 0. -1: outside of all functions."""
    calls: NDArray[np.int64]
    resumptions: NDArray[np.int64]
    """Of generators and coroutines that had yielded."""
    exceptions: NDArray[np.int64]
    """Exits by an exception."""
    measured: NDArray[np.int64]
    """The metric of the function itself, with what recording took."""
    overhead: NDArray[np.int64]
    """What recording took of it."""
    preexisting: NDArray[np.int64]
    """Calls that were under way when recording began; they are not among `calls`."""

    def __len__(self) -> int:
        return len(self.context)


@dataclass(frozen=True)
class FlowEvents:
    """Entries and exits of functions."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    context: NDArray[np.int32]
    kind: NDArray[np.uint8]
    """FLOW_ENTRY, FLOW_EXIT, …"""
    measured: NDArray[np.int64]
    """The metric since the thread's event before."""

    def __len__(self) -> int:
        return len(self.kind)
