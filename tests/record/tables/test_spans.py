"""Spans as notes of several rings: in which order they come, and how long they are known."""

from __future__ import annotations

from typing import Any, cast

import pytest

from sonde.record.tables import spans as spans_module
from sonde.record.tables.segment import ProcessSegment
from sonde.record.tables.spans import KEEP_NS, Spans, UnknownSpanError
from sonde.record.tables.thread_row import ThreadRow


class Rows:
    """What would be written."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def append(self, table: str, *values: Any) -> int:
        self.rows.append((table, *values))
        return sum(row[0] == table for row in self.rows) - 1

    def of(self, table: str) -> list[tuple[Any, ...]]:
        return [row[1:] for row in self.rows if row[0] == table]


class NoLockRuns:
    def spans_change(self) -> None: ...


class Process:
    def __init__(self) -> None:
        self.written = Rows()
        segment = ProcessSegment(1, "cpython", cast("Any", self.written), 0, row=0)
        self.spans = Spans(segment, cast("Any", NoLockRuns()))
        self.thread = ThreadRow(segment, cast("Any", {}), 1, 0, 0)
        self.thread.rows[0] = 0

    def begin(self, number: int, at: int, parent: int = 0) -> None:
        self.spans.check(parent)
        self.spans.begin(number, parent, self.thread, 0, at, f"span {number}")


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_part_waits_for_the_span_it_belongs_to(process: Process) -> None:
    """Its beginning may lie in the ring of another thread, which is drained later."""
    with pytest.raises(UnknownSpanError):
        process.begin(8, 10, parent=7)
    process.begin(7, 5)
    process.begin(8, 10, parent=7)
    assert process.written.of("spans") == [(0, 5, "span 7", -1, 0), (0, 10, "span 8", 0, 0)]


def test_attributes_are_repeated_with_their_span_in_the_next_segment(process: Process) -> None:
    process.begin(7, 5)
    process.spans.set(7, "status", "200")
    process.spans.set(7, "status", "500")
    process.spans.set(9, "status", "404")  # of a span that is not known
    assert process.written.of("span_attributes") == [(0, "status", "200"), (0, "status", "500")]
    process.written.rows.clear()
    process.thread.is_listed = True
    process.spans.start_segment()
    assert process.written.of("span_attributes") == [(0, "status", "500")]


def test_what_belongs_to_a_span_of_long_ago_does_not_wait_for_it(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans_module, "MAX_FORGOTTEN", 2)
    for number in (1, 2, 3):
        process.begin(number, number)
        process.spans.end(number, number)
    process.begin(10, KEEP_NS)
    process.spans.end(10, KEEP_NS + 100)
    process.begin(11, KEEP_NS + 100, parent=3)
    process.spans.check(2)
    process.spans.set(2, "late", "yes")
    assert process.written.of("spans")[-1] == (0, KEEP_NS + 100, "span 11", -1, 0)
    assert process.written.of("span_attributes") == []
    with pytest.raises(UnknownSpanError):
        process.spans.check(1)  # more than are remembered ended since
