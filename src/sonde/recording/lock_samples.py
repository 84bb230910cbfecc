"""Sampled acquisitions of locks, and how many acquisitions threads made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LockSamples:
    """Acquisitions of locks that were sampled, contended or not."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    """When the thread had the lock."""
    lock: NDArray[np.uint32]
    context: NDArray[np.int32]
    """Where it was acquired; -1: its stack could not be decoded."""
    every: NDArray[np.uint32]
    """One of so many acquisitions is sampled, on average and at random."""
    counted: NDArray[np.uint32]
    """Acquisitions of the thread since its last sample, with this one."""
    flags: NDArray[np.uint8]
    """Of ACQUIRED_CONTENDED, ACQUIRED_RECURSIVE and ACQUIRED_REENTRANT."""
    wait_ns: NDArray[np.int64]
    """From the attempt to the acquisition."""
    hold_ns: NDArray[np.int64]
    """Up to its release; -1: unknown, or it was held when the recording ended."""
    span: NDArray[np.int32]
    """The innermost span in which it was acquired, -1: none."""
    spin_ns: NDArray[np.int64]
    """Of `wait_ns`: the thread was on CPU and tried again; -1: unknown."""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class LockCounts:
    """Acquisitions that threads made after their last samples."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    counted: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)
