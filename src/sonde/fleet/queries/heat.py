"""When did which hosts (or services, or versions) spend how much time? A map of cells.

A cell is what a range of time and a value of a label have in common; its time is that of every
view of the same range and label, to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from sonde.fleet.queries.contexts import numbers
from sonde.fleet.queries.query import StoreQuery
from sonde.fleet.store.labels import label_in
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints

COLUMNS = 120
"""At most; a step of time is chosen so that there are as many as fit."""
ROWS = 200
"""At most, those with most time."""
MS = 1_000_000
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
STEPS_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 5, 10, 30)),
)
"""What people divide time by."""


@dataclass(frozen=True)
class HeatRow:
    value: str | None
    """Of the label; None: of recordings that do not have it."""
    cells: list[int]
    """Nanoseconds."""

    @property
    def total(self) -> int:
        return sum(self.cells)

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "cells": self.cells}


@dataclass(frozen=True)
class Heat:
    """Rows by their time, descending."""

    by: str
    begin_ns: int
    step_ns: int
    """Both whole milliseconds."""
    columns: int
    rows: list[HeatRow]
    more_rows: int
    more_ns: int

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": "ns",
            "by": self.by,
            "begin_ns": self.begin_ns,
            "step_ns": self.step_ns,
            "columns": self.columns,
            "rows": [row.to_json() for row in self.rows],
            "more_rows": self.more_rows,
            "more_ns": self.more_ns,
        }


def heat(of: StoreQuery, by: str, *, top: int | None = None) -> Heat:
    """The recordings asked about by a label and by time: of the question's range, or of all that
    was recorded."""
    question = of.question
    extent = _extent(of)
    if extent is None:
        return Heat(by, 0, MS, 0, [], 0, 0)
    begin, end = extent
    step = step_for(end - begin)
    first = begin // step * step
    columns = -(-(end - first) // step)
    # Cells at the edges are cut where the range is, and else as long as the others.
    last = first + columns * step
    start_ns = first if question.start_ns is None else max(first, question.start_ns)
    end_ns = last if question.end_ns is None else min(last, question.end_ns)
    asked = StoreQuery(of.store, of.engine, replace(question, start_ns=start_ns, end_ns=end_ns))
    grid = _Grid(asked, by, first, step, columns)
    rows = [HeatRow(value, cells.tolist()) for value, cells in grid.filled().items()]
    rows.sort(key=lambda row: (-row.total, row.value is None, row.value or ""))
    most = ROWS if top is None else min(top, ROWS)
    left = rows[most:]
    return Heat(by, first, step, columns, rows[:most], len(left), sum(row.total for row in left))


def step_for(length_ns: int) -> int:
    """The least step that makes not too many columns, one of which may be begun and one ended."""
    for step in STEPS_MS:
        if length_ns <= (COLUMNS - 1) * step * MS:
            return step * MS
    longest = STEPS_MS[-1] * MS
    return -(-length_ns // ((COLUMNS - 1) * longest)) * longest


def _extent(asked: StoreQuery) -> tuple[int, int] | None:
    """From when to when there is something, in the range asked about."""
    if not asked.parts:
        return None
    table = asked.recordings
    (row,) = (
        table.aggregate(begin=table.base_ns.min(), end=(table.base_ns + table.duration_ns).max())
        .to_pyarrow()
        .to_pylist()
    )
    if row["begin"] is None:
        return None
    start, end = asked.question.start_ns, asked.question.end_ns
    begin = row["begin"] if start is None else max(start, row["begin"])
    # What ended at the last moment belongs to it.
    last = row["end"] + 1 if end is None else min(end, row["end"] + 1)
    return begin, max(last, begin + 1)


class _Grid:
    """Sums by value and column. The engine sums up by thread, which is little to join."""

    def __init__(self, asked: StoreQuery, by: str, begin: int, step: int, columns: int) -> None:
        self.asked, self.by = asked, by
        self.begin, self.step, self.columns = begin, step, columns
        self.cells: dict[str | None, Ints] = {}

    def filled(self) -> dict[str | None, Ints]:
        time = self.asked.question.time
        if time != "waiting":
            self._running()
        if time != "running":
            self._waiting()
        return self.cells

    def _running(self) -> None:
        samples = self.asked.samples
        samples = samples.filter(samples.state == RUNNING)
        samples = samples.mutate(column=self._column(samples.time))
        found = samples.group_by("thread", "column").aggregate(ns=samples.ns.sum())
        for value, column, (ns,) in self._by_value(found, "ns"):
            self._of(value)[column] += ns

    def _waiting(self) -> None:
        """A wait may be longer than a column: it has a part in its first, a part in its last, and
        all of those between."""
        samples = self.asked.samples
        samples = samples.filter(samples.state != RUNNING)
        end = ibis.literal(self.asked.question.end_ns, "int64")
        waits = samples.mutate(until=ibis.least(samples.time, end))
        waits = waits.mutate(
            begun_in=self._column(waits.until - waits.ns), ended_in=self._column(waits.until - 1)
        )
        one = waits.begun_in == waits.ended_in
        rest = waits.begun_in + self.begin + self.step - (waits.until - waits.ns)
        waits = waits.mutate(
            at_first=ibis.ifelse(one, waits.ns, rest),
            at_last=waits.until - self.begin - waits.ended_in,
            is_long=ibis.ifelse(one, 0, 1),
        )
        begun = waits.group_by("thread", column=waits.begun_in).aggregate(
            ns=waits.at_first.sum(), waits=waits.is_long.sum()
        )
        longer = waits.filter(waits.is_long == 1)
        ended = longer.group_by("thread", column=longer.ended_in).aggregate(
            ns=longer.at_last.sum(), waits=longer.is_long.sum()
        )
        under_way: dict[str | None, Ints] = {}
        for sign, found in ((1, begun), (-1, ended)):
            for value, column, (ns, count) in self._by_value(found, "ns", "waits"):
                self._of(value)[column] += ns
                changes = under_way.setdefault(value, np.zeros(self.columns + 1, dtype=np.int64))
                # From the column after the first on, up to the one before the last.
                changes[column + (1 if sign > 0 else 0)] += sign * count
        for value, changes in under_way.items():
            self._of(value)[:] += np.cumsum(changes)[: self.columns] * self.step

    def _of(self, value: str | None) -> Ints:
        return self.cells.setdefault(value, np.zeros(self.columns, dtype=np.int64))

    def _column(self, time: Any) -> Any:
        """How far from the beginning the column of this moment starts. By remainder: engines divide
        whole numbers as fractions, which are not exact."""
        since = time - self.begin
        return since - since % self.step

    def _by_value(self, found: Any, *sums: str) -> Any:
        """Values of the label with a column and its sums."""
        asked = self.asked
        of = asked.recordings
        placed = found.join(asked.threads.select("thread", "recording"), "thread").join(
            of.select("recording", value=label_in(of, self.by)), "recording"
        )
        table = (
            placed.group_by("value", "column")
            .aggregate(**{name: placed[name].sum() for name in sums})
            .to_pyarrow()
        )
        column = numbers(table, "column") // self.step
        columns = [numbers(table, name).tolist() for name in sums]
        return zip(
            table["value"].to_pylist(), column.tolist(), zip(*columns, strict=True), strict=True
        )
