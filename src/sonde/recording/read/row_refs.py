"""Row numbers in the file to row numbers in the opened tables.

Where a damaged block took rows with it, the tables close ranks and every row
number is translated. A number whose row is missing never becomes another row:
it turns into -1, or into a row that says "(lost)".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format.schema import INTEGERS, TEXT, TEXTS, Table

LOST = "(lost)"

Columns = dict[str, Any]
Rows = NDArray[np.int64]

Ranges = NDArray[np.int64]
"""First row and number of rows of every readable block, ascending: one line for each."""
NO_RANGES: Ranges = np.zeros((0, 2), dtype=np.int64)

_NONE: Rows = np.zeros(0, dtype=np.int64)


def runs(ranges: Ranges) -> tuple[Rows, Rows]:
    """Where blocks that follow one another without a gap begin and end, in rows."""
    first, end = ranges[:, 0], ranges[:, 0] + ranges[:, 1]
    gap = first[1:] != end[:-1]
    return first[np.append(True, gap)], end[np.append(gap, True)]


class RowMap:
    """Translates the row numbers of one table."""

    def __init__(self, ranges: Ranges) -> None:
        self._kept: Rows | None = None
        self.length = 0
        self.missing = 0
        """Rows known to be missing: those before or between the readable ones."""
        self.lost_row_needed = False
        self._first = self._end = self._place = _NONE
        if not len(ranges):
            return
        first, end = runs(ranges)
        counts = end - first
        self._first, self._end = first, end
        self._place = np.cumsum(counts) - counts
        self.length = int(counts.sum())
        self.missing = int(end[-1]) - self.length

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Only these of the readable rows stay in the table."""
        self._kept = np.where(kept, np.cumsum(kept) - 1, -1)
        self.length = int(kept.sum())

    @property
    def keeps_all(self) -> bool:
        """No row is missing: numbers below `length` stay as they are."""
        return self.missing == 0 and self._kept is None

    def __call__(self, rows: Rows) -> Rows:
        """The rows' places in the opened table; -1 for those that are not in it."""
        if not len(self._first):
            return np.full(len(rows), -1, dtype=np.int64)
        if self.missing == 0:
            inside = (rows >= 0) & (rows < self._end[0])
            places = np.where(inside, rows, -1)
        else:
            run = np.searchsorted(self._first, rows, side="right") - 1
            inside = (run >= 0) & (rows < self._end[run])
            places = np.where(inside, rows - self._first[run] + self._place[run], -1)
        if self._kept is not None:
            places = np.where(inside, self._kept[places], -1)
        return places

    def lost_row(self) -> int:
        """The place of the row that stands for all missing ones."""
        self.lost_row_needed = True
        return self.length


def keep_whole_contexts(columns: Columns, own: RowMap, functions: RowMap) -> None:
    """Drops contexts whose function or caller is missing: half a stack would be a wrong one."""
    written: Rows = columns["parent"].astype(np.int64)
    root = written == -1
    parent = own(written)
    function = functions(columns["function"].astype(np.int64))
    rows = np.arange(len(parent))
    # A caller always comes before those it calls; anything else would be a circle.
    orphan = ~root & ((parent < 0) | (parent >= rows))
    lost = orphan | (function < 0)
    if lost.any():
        # Each round looks twice as far up, so the deepest chain takes log2 rounds.
        ancestor = np.where(root | orphan, rows, parent)
        for _ in range(len(rows).bit_length()):
            lost |= lost[ancestor]
            ancestor = ancestor[ancestor]
        kept = ~lost
        own.keep(kept)
        columns["line"] = columns["line"][kept]
        root, function = root[kept], function[kept]
        parent = own(written[kept])
    columns["parent"] = np.where(root, -1, parent).astype(np.int32)
    columns["function"] = function.astype(np.int32)


def translate(table: Table, columns: Columns, maps: dict[str, RowMap]) -> dict[str, int]:
    """Translates every row number in a table; returns how many were missing, per column."""
    missing: dict[str, int] = {}
    for column in table.columns:
        if not column.refers:
            continue
        values = columns[column.name]
        if not len(values):
            missing[column.name] = 0
            continue
        signed = INTEGERS[column.type][0] < 0
        own = maps[column.refers]
        if own.keeps_all and values.min() >= -int(signed) and values.max() < own.length:
            missing[column.name] = 0
            continue
        rows = maps[column.refers](values.astype(np.int64))
        gone = rows < 0
        if signed:
            missing[column.name] = int((gone & (values != -1)).sum())
        else:
            missing[column.name] = int(gone.sum())
            if missing[column.name]:
                rows[gone] = maps[column.refers].lost_row()
        columns[column.name] = rows.astype(values.dtype)
    return missing


def add_lost_row(table: Table, columns: Columns, maps: dict[str, RowMap]) -> None:
    """Appends the row that stands for all missing ones."""
    for column in table.columns:
        values = columns[column.name]
        if column.type == TEXT:
            values.append(LOST if column.name == "name" else "")
        elif column.type == TEXTS:
            values.append([])
        else:
            value = maps[column.refers].lost_row() if column.refers else column.default or 0
            columns[column.name] = np.append(values, values.dtype.type(value))
