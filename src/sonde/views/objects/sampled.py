"""Sampled allocations of a part of a recording: what each represents, and how long it was alive.

Of an object of n bytes the runtime takes a sample with probability p = 1 - exp(-n / every). So a
sample represents 1 / p objects on average, and the variance of that estimate is (1 - p) / p².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sonde.model.survival import NEVER
from sonde.model.window_variance import window_variance, windows_of
from sonde.views.selecting.selection import threads_of

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FIRST_WITH_WINDOWS = (3, 14)
SMALL = 512
"""Bytes of the largest object that these versions sample in windows."""
OPEN_NS, PERIOD_NS = 1_000_000, 8_000_000
"""How long a window is open, and how long it takes from one to the next on average."""

CONFIDENCE = 1.96
"""Standard errors on both sides of an estimate that contain the truth in 95 % of all cases."""


@dataclass(frozen=True)
class Sampled:
    """Columns by sample; `row` is that in the table of objects."""

    row: Ints
    size: Ints
    count: Floats
    """Objects that it represents."""
    variance: Floats
    """Of that number."""
    begin: Ints
    end: Ints
    """NEVER: it was alive in the end."""
    exit: Ints
    """When its process ended; NEVER: it did not."""
    followed: Flags
    """To its end; of others it is not known whether they are alive."""
    window: Ints
    """In which sampling window it was taken, as in `sonde.model.window_variance`; -1: in none."""

    @property
    def bytes(self) -> Floats:
        found: Floats = self.size * self.count
        return found

    def bytes_variance(self, group: Ints | None = None, groups: int = 1) -> Floats:
        """By group; everything is one if none are given."""
        size = self.size.astype(np.float64)
        return self._variance(self.bytes, size**2 * self.variance, group, groups)

    def count_variance(self, group: Ints | None = None, groups: int = 1) -> Floats:
        return self._variance(self.count, self.variance, group, groups)

    def _variance(self, values: Floats, of_each: Floats, group: Ints | None, groups: int) -> Floats:
        """Samples are independent of each other, but for those of windows."""
        group = np.zeros(len(self), dtype=np.int64) if group is None else group
        alone = self.window < 0
        found = np.bincount(group[alone], of_each[alone], groups).astype(np.float64)
        if not alone.all():
            inside = ~alone
            found += window_variance(self.window[inside], values[inside], group[inside], groups)
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
        window=_windows(recording, row),
    )


def _windows(recording: Recording, row: Ints) -> Ints:
    """Of small objects of the versions of CPython that sample these in windows only."""
    table = recording.objects
    process = recording.threads.process[table.thread[row]]
    found = np.full(len(row), -1, dtype=np.int64)
    for number, facts in enumerate(recording.processes):
        if facts.runtime != "cpython" or _minor(facts.version) < FIRST_WITH_WINDOWS:
            continue
        small = np.flatnonzero((process == number) & (table.size[row] <= SMALL))
        first = int(found.max(initial=-1)) + 2
        found[small] = first + windows_of(table.time[row[small]], OPEN_NS, PERIOD_NS)
    return found


def _minor(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)


def margin(variance: float) -> int:
    """Of an estimate, at 95 % confidence."""
    return round(CONFIDENCE * math.sqrt(max(variance, 0.0)))
