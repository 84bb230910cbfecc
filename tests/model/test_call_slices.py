"""Entries and exits as slices that nest, whatever is missing."""

from __future__ import annotations

import random

import numpy as np

from flows import SHOP, with_flow
from sonde.model.call_slices import CallSlices, call_slices
from sonde.views.flow.flow_slices import flow_slices
from sonde.views.selecting.selection import Selection
from synthetic import Maker


def drawn(found: CallSlices) -> list[tuple[int, int, int, int]]:
    """Thread, start, end and depth, after a check that begins and ends nest."""
    stack: list[int] = []
    now = (-1, -1)
    slices, begins = found.ordered()
    for row, begin in zip(slices.tolist(), begins.tolist(), strict=True):
        thread, time = int(found.thread[row]), int((found.start if begin else found.end)[row])
        if thread != now[0]:
            assert not stack
            now = (thread, time)
        assert time >= now[1]
        now = (thread, time)
        if not begin:
            assert stack.pop() == row
            continue
        assert not stack or found.depth[stack[-1]] < found.depth[row]
        stack.append(row)
    assert not stack
    columns = (found.thread, found.start, found.end, found.depth)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_calls_of_a_program() -> None:
    make = Maker()
    recording = with_flow(make, SHOP)
    found = flow_slices(recording)
    assert drawn(found) == [
        (0, 0, 150, 0), (0, 10, 60, 1), (0, 20, 50, 2), (0, 70, 80, 1), (0, 90, 95, 1),
        (0, 100, 130, 1), (0, 140, 150, 1), (0, 150, 150, 2),
        (1, 1, 1, 0), (1, 5, 9, 0), (1, 30, 30, 0),
    ]  # fmt: skip
    assert (found.entry < 0).sum() == 1
    assert (found.exit < 0).sum() == 4


def test_a_range_cuts_them() -> None:
    recording = with_flow(Maker(), SHOP)
    found = flow_slices(recording, Selection(thread="MainThread", start_ns=40, end_ns=75))
    assert drawn(found) == [(0, 40, 50, 2), (0, 40, 60, 1), (0, 40, 75, 0), (0, 70, 75, 1)]


def test_spans_cut_them() -> None:
    make = Maker()
    outer = make.span("request", 15, 45)
    make.span("request", 20, 30, parent=outer)
    make.span("request", 92, -1)
    found = flow_slices(with_flow(make, SHOP), Selection(span="request", end_ns=110))
    assert drawn(found) == [
        (0, 15, 45, 0), (0, 15, 45, 1), (0, 20, 45, 2),
        (0, 92, 95, 1), (0, 92, 110, 0), (0, 100, 110, 1),
    ]  # fmt: skip


def test_whatever_is_lost() -> None:
    """Of a walk up and down a stack, any events may be missing."""
    draw = random.Random(3)
    events: list[tuple[int, int, int, bool]] = []
    for thread in range(3):
        stack: list[int] = []
        for time in range(2000):
            if stack and (draw.random() < 0.5 or len(stack) > 12):
                depth = len(stack) - 1
                events.append((thread, time // 3, stack.pop() * 20 + depth, False))
            else:
                stack.append(draw.randrange(3))
                events.append((thread, time // 3, stack[-1] * 20 + len(stack) - 1, True))
    for share in (0, 0.01, 0.3, 0.9):
        kept = [event for event in events if draw.random() >= share]
        thread, time, context, begins = (np.array(column) for column in zip(*kept, strict=True))
        found = call_slices(thread, time, context, context % 20, begins)
        slices = drawn(found)
        assert len(found) >= max(begins.sum(), (~begins).sum())
        known = np.concatenate([found.entry[found.entry >= 0], found.exit[found.exit >= 0]])
        assert sorted(known.tolist()) == list(range(len(kept)))
        cut = found.cut(np.array([0, 0, 2]), np.array([10, 300, 5]), np.array([200, 310, 9]))
        assert {one[0] for one in drawn(cut)} <= {0, 2}
        if not share:
            assert sum(one[3] == 0 for one in slices) <= (context % 20 == 0).sum()


def test_nothing() -> None:
    assert len(flow_slices(Maker().recording(), Selection(start_ns=0, end_ns=5))) == 0
