"""Which rows at a segment boundary are of what lies before it; join.py says what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.tables import Recording, Samples
from sonde.row_values import BEFORE, RUNNING

Ints = NDArray[np.int64]


def shares_before(samples: Samples) -> Ints:
    """Rows that hold what of the next row's wait lies before the segment."""
    rows = np.flatnonzero((samples.time[:-1] == BEFORE) & (samples.state[:-1] != RUNNING))
    same = (
        (samples.thread[rows] == samples.thread[rows + 1])
        & (samples.context[rows] == samples.context[rows + 1])
        & (samples.state[rows] == samples.state[rows + 1])
    )
    shares: Ints = rows[same]
    return shares


def repeated(part: Recording, before: Recording) -> NDArray[np.bool_]:
    """Which lock events of a segment stand in the one before it already."""

    def keys(of: Recording, rows: Ints) -> list[tuple[Any, ...]]:
        events, locks, processes = of.lock_events, of.locks, of.processes
        found = []
        for lock, sequence in zip(
            events.lock[rows].tolist(), events.sequence[rows].tolist(), strict=True
        ):
            owner = processes[int(locks.process[lock])]
            address = int(locks.address[lock])
            found.append((owner.pid, owner.number, address, locks.made_of[lock], sequence))
        return found

    late = np.flatnonzero(part.lock_events.time < 0)
    wanted = np.unique(part.lock_events.sequence[late])
    there = set(keys(before, np.flatnonzero(np.isin(before.lock_events.sequence, wanted))))
    flags = np.zeros(len(part.lock_events), dtype=bool)
    flags[late] = [key in there for key in keys(part, late)]
    return flags


def rows_of(table: Any, keep: NDArray[np.bool_]) -> Any:
    """The same table with some of its rows; its columns are all arrays."""
    return replace(table, **{name: column[keep] for name, column in vars(table).items()})
