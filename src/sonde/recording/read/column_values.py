"""The values of columns: as decoded, or the default of those that a file does not have.

What a column cannot hold is found here; whoever reads blocks leaves out those that hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format.schema import FLOAT, INTEGERS, TEXT, TEXTS, Column, Table
from sonde.recording.read.decode import TableDecoder
from sonde.recording.read.decode_numbers import NumberBlocks
from sonde.recording.read.row_refs import Columns

_DTYPES: dict[str, Any] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "i32": np.int32,
    "i64": np.int64,
}
Numbers = NDArray[np.int64]

NO_ROWS: Numbers = np.zeros(0, dtype=np.int64)
# Shared by all tables without rows: nobody can write into an array of no length.
_EMPTY: dict[str, Any] = {kind: np.zeros(0, dtype) for kind, dtype in _DTYPES.items()}
_EMPTY[FLOAT] = np.zeros(0)


class FilledColumn:
    """A column being filled from its start on; while all its values are equal it takes no memory.

    Of most samples no span is known, and memory that is touched first is most of what reading
    takes.
    """

    def __init__(self, column: Column, rows: int) -> None:
        self._dtype = np.dtype(_DTYPES[column.type])
        self._rows = rows
        self._same: int | None = None
        self._values: NDArray[Any] | None = None

    def put(self, start: int, end: int, values: NDArray[Any] | int) -> None:
        if start == end:
            return
        if self._values is None:
            if isinstance(values, int) and self._same in (None, values):
                self._same = values
                return
            self._values = np.empty(self._rows, self._dtype)
            if self._same is not None:
                self._values[:start] = self._same
        self._values[start:end] = values

    def first(self, rows: int) -> NDArray[Any]:
        """Read-only where all are equal."""
        if self._values is not None:
            return self._values if rows == self._rows else self._values[:rows].copy()
        return np.broadcast_to(self._dtype.type(self._same or 0), (rows,))


def constant(column: Column, found: NumberBlocks, place: int | None) -> int | None:
    """The value that a column has in every row of some blocks; None: there is not only one.

    None as well where it is out of bounds, which is the business of those who look at each block.
    """
    if place is None:
        return int(column.default)
    raw = found.constant(place)
    if raw is None:
        return None
    low, high = column.bounds
    value = int(raw.astype(np.int64) if INTEGERS[column.type][0] < 0 else raw)
    return value if low <= value <= high else None


def only_integers(columns: list[Column]) -> bool:
    return all(column.type in INTEGERS for column in columns)


def without_rows(table: Table) -> Columns:
    return {
        column.name: [] if column.type in (TEXT, TEXTS) else _EMPTY[column.type]
        for column in table.columns
    }


def decoded(
    column: Column, decoder: TableDecoder, present: bool, rows: int
) -> tuple[Any, NDArray[np.int64]]:
    """The values of a column, and the places of those out of bounds."""
    if column.type in (TEXT, TEXTS):
        return (decoder.texts(column.name) if present else [column.default] * rows), NO_ROWS
    if column.type == FLOAT:
        return (decoder.floats(column.name) if present else np.full(rows, column.default)), NO_ROWS
    return bounded(column, decoder.integers(column.name) if present and rows else None, rows)


def bounded(
    column: Column, raw: NDArray[np.uint64] | None, rows: int
) -> tuple[Any, NDArray[np.int64]]:
    """Values of a column of integers, and the places of those out of bounds; None: not there."""
    dtype = _DTYPES[column.type]
    if not rows:
        return np.zeros(0, dtype), NO_ROWS
    if raw is None:
        return np.full(rows, column.default, dtype), NO_ROWS
    low, high = column.bounds
    values: Any = raw.view(np.int64) if INTEGERS[column.type][0] < 0 else raw
    wrong = NO_ROWS
    if values.min() < low or values.max() > high:
        wrong = np.flatnonzero((values < low) | (values > high))
    return values.astype(dtype, copy=False), wrong


def fits(column: Column, value: Any) -> bool:
    if column.refers:
        return False
    if value is None:
        return column.default is not None
    if column.type == TEXT:
        return isinstance(value, str)
    if column.type == TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if isinstance(value, bool):
        return False
    if column.type == FLOAT:
        return isinstance(value, (int, float))
    return isinstance(value, int) and column.bounds[0] <= value <= column.bounds[1]
