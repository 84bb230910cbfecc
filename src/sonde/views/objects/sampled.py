"""Sampled allocations of a part of a recording: what each stands for, and how long it was alive.

Of an object of n bytes the runtime takes a sample with probability p = 1 - exp(-n / every). So a
sample stands for 1 / p objects on average, and the variance of that estimate is (1 - p) / p².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sonde.model.survival import NEVER
from sonde.views.selecting.selection import threads_of

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CONFIDENCE = 1.96
"""Standard errors on both sides of an estimate that contain the truth in 95 % of all cases."""


@dataclass(frozen=True)
class Sampled:
    """Columns by sample; `row` is that in the table of objects."""

    row: Ints
    size: Ints
    count: Floats
    """Objects that it stands for."""
    variance: Floats
    """Of that number."""
    begin: Ints
    end: Ints
    """NEVER: it was alive in the end."""
    exit: Ints
    """When its process ended; NEVER: it did not."""
    followed: Flags
    """To its end; of others it is not known whether they are alive."""

    @property
    def bytes(self) -> Floats:
        found: Floats = self.size * self.count
        return found

    @property
    def bytes_variance(self) -> Floats:
        found: Floats = self.size.astype(np.float64) ** 2 * self.variance
        return found

    def __len__(self) -> int:
        return len(self.row)

    def only(self, keep: Flags) -> Sampled:
        return Sampled(**{name: column[keep] for name, column in vars(self).items()})

    def allocated(self, start_ns: int | None, end_ns: int | None) -> Flags:
        """In a range of time. What was alive when the recording began was not allocated in it."""
        keep: Flags = self.begin >= (start_ns or 0)
        if end_ns is not None:
            keep &= self.begin < end_ns
        return keep

    def alive(self, at_ns: int | None) -> Flags:
        """At a moment; None: in the end, of a process that ended when it did."""
        if at_ns is None:
            in_the_end: Flags = self.followed & (self.end == NEVER)
            return in_the_end
        then: Flags = (self.begin <= at_ns) & (at_ns < self.end) & (at_ns <= self.exit)
        return then & self.followed


def sampled(recording: Recording, selection: Selection) -> Sampled:
    """Those of the threads and processes that the selection means, whenever allocated."""
    table = recording.objects
    keep = np.ones(len(table), dtype=bool)
    if selection.thread is not None or selection.process is not None:
        keep = threads_of(recording, selection)[table.thread]
    row = np.flatnonzero(keep)
    size = table.size[row]
    chance = -np.expm1(-np.maximum(size, 1) / np.maximum(table.every[row], 1))
    ended = [NEVER if p.end_ns is None else p.end_ns for p in recording.processes]
    exits = np.array([*ended, NEVER], dtype=np.int64)
    died = table.died[row]
    return Sampled(
        row=row,
        size=size,
        count=1 / chance,
        variance=(1 - chance) / chance**2,
        begin=table.time[row],
        end=np.where(died == 0, NEVER, died),
        exit=exits[recording.threads.process[table.thread[row]]],
        followed=table.id[row] != 0,
    )


def margin(variance: float) -> int:
    """Of an estimate, at 95 % confidence."""
    return round(CONFIDENCE * math.sqrt(max(variance, 0.0)))
