"""Sampled objects of several segments as one table: one that outlives a segment is one again.

A segment repeats the objects that were alive when it began, each with the time of its allocation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sonde.recording.segments.segment_boundary import rows_of
from sonde.recording.tables import Objects

Ints = NDArray[np.int64]


class ObjectJoin:
    def __init__(self) -> None:
        self._pieces: list[Objects] = []
        self._rows = 0
        self._alive: dict[tuple[int, int], int] = {}
        """The places of those that a later segment may repeat."""
        self._died_later: dict[int, int] = {}

    def add(
        self, part: Objects, start: int, process: Ints, thread: Ints, context: Ints, type_: Ints
    ) -> None:
        """Those of the next segment. `process` shows the process of each of its threads; the others
        where its rows are by now."""
        died = np.where(part.died != 0, part.died + start, 0)
        keep = np.ones(len(part), dtype=bool)
        owner = process[part.thread]
        for row in np.flatnonzero((part.time < 0) & (part.id != 0)).tolist():
            key = int(owner[row]), int(part.id[row])
            known = self._alive.get(key)
            if known is None:
                continue
            keep[row] = False
            if died[row]:
                self._died_later[known] = int(died[row])
                del self._alive[key]
        new = np.flatnonzero(keep & (part.id != 0) & (died == 0))
        place = np.cumsum(keep) - 1 + self._rows
        for row in new.tolist():
            self._alive[int(owner[row]), int(part.id[row])] = int(place[row])
        moved = replace(
            part,
            thread=thread[part.thread].astype(np.uint32),
            time=part.time + start,
            context=context[part.context].astype(np.int32),
            type=type_[part.type].astype(np.int32),
            died=died,
        )
        piece = rows_of(moved, keep)
        self._pieces.append(piece)
        self._rows += len(piece)

    def table(self) -> Objects:
        columns = {
            name: np.concatenate([vars(piece)[name] for piece in self._pieces])
            for name in vars(self._pieces[0])
        }
        for place, died in self._died_later.items():
            columns["died"][place] = died
        return Objects(**columns)
