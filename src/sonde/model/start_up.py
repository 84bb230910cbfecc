"""When the start-up of a process ended: the phase in which it mostly imports modules.

Start-up is the longest beginning of the main thread's CPU time that ends with an import and is at
least half importing. What is imported later, in the middle of the program's work, is none of it: by
then other work outweighs the imports. Where the main thread begins to wait for connections, or does
nothing for `IDLE_NS`, the start-up is over as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.model.trees.context_tree import Flags, Ints

IDLE_NS = 2_000_000_000
"""A main thread without a sample for so long waits for work."""
MIN_SAMPLES = 5
"""Fewer samples of imports show no phase."""


class Interval(NamedTuple):
    """From the first sample's beginning until the end of the phase."""

    start_ns: int
    end_ns: int


def start_up(
    time: NDArray[np.int64],
    weight: NDArray[np.int64],
    importing: Flags,
    serving: Flags,
) -> Interval | None:
    """The phase, from the running samples of a main thread in the order of their times.

    `importing` is of those below the import system, `serving` of those that wait for connections.
    """
    limit = len(time)
    if serving.any():
        limit = int(np.argmax(serving))
    pause = np.diff(time[:limit]) - weight[1:limit] >= IDLE_NS
    if pause.any():
        limit = int(np.argmax(pause)) + 1
    spent: Ints = weight[:limit].astype(np.int64)
    imports = importing[:limit]
    half = np.cumsum(np.where(imports, spent, 0)) * 2 >= np.cumsum(spent)
    ends = np.flatnonzero(imports & half)
    if not len(ends) or np.count_nonzero(imports[: ends[-1] + 1]) < MIN_SAMPLES:
        return None
    return Interval(int(time[0] - weight[0]), int(time[ends[-1]]))


def united(intervals: list[Interval], gap_ns: int = IDLE_NS) -> Interval | None:
    """The first phase, with those of processes that started before it was over, or right after."""
    found: Interval | None = None
    for interval in sorted(intervals):
        if found is None:
            found = interval
        elif interval.start_ns <= found.end_ns + gap_ns:
            found = Interval(found.start_ns, max(found.end_ns, interval.end_ns))
        else:
            break
    return found
