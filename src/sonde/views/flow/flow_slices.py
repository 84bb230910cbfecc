"""The calls of a part of a recording, each as the time from its entry to its exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.model.call_slices import CallSlices, call_slices
from sonde.model.trees.context_tree import ContextTree
from sonde.row_values import FLOW_ENTRY, FLOW_RESUME, FLOW_THROW
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.span_filter import within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

BEGINS = (FLOW_ENTRY, FLOW_RESUME, FLOW_THROW)
"""Kinds of events that begin a slice; the others end one."""


def flow_slices(recording: Recording, selection: Selection | None = None) -> CallSlices:
    """A generator or coroutine has a slice for each time it runs; its times are cut to the
    selection's."""
    selection = selection or Selection()
    table = recording.flow_events
    keep = threads_of(recording, selection)[table.thread] & (table.context >= 0)
    rows = np.flatnonzero(keep)
    depth = ContextTree(recording.contexts.parent).depth
    context = table.context[rows]
    found = call_slices(
        table.thread[rows], table.time[rows], context, depth[context],
        np.isin(table.kind[rows], BEGINS),
    )  # fmt: skip
    if selection.start_ns is None and selection.end_ns is None and selection.span is None:
        return found
    return found.cut(*_intervals(recording, selection, found.thread, found.end))


def _intervals(
    recording: Recording, selection: Selection, threads: Ints, ends: NDArray[np.int64]
) -> tuple[Ints, Ints, Ints]:
    """The times of the selection by thread, ascending, without overlaps."""
    spans = recording.spans
    latest = int(ends.max(initial=0)) + 1
    if selection.span is None:
        thread = np.unique(threads)
        start, end = np.zeros(len(thread), dtype=np.int64), np.full(len(thread), latest)
    else:
        rows = np.flatnonzero(within(recording, selection.span)[np.arange(len(spans))])
        rows = rows[np.lexsort((spans.start_ns[rows], spans.thread[rows]))]
        thread = spans.thread[rows].astype(np.int64)
        start = spans.start_ns[rows]
        end = np.where(spans.end_ns[rows] < 0, latest, spans.end_ns[rows])
        thread, start, end = _joined(thread, start, end)
    low = 0 if selection.start_ns is None else selection.start_ns
    high = latest if selection.end_ns is None else selection.end_ns
    start, end = np.maximum(start, low), np.minimum(end, high)
    some = start < end
    return thread[some], start[some], end[some]


def _joined(thread: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Intervals that overlap as one."""
    if not len(thread):
        return thread, start, end
    stride = int(end.max()) + 1
    reach = np.maximum.accumulate(end + thread * stride)
    fresh = np.flatnonzero(np.append(True, (start + thread * stride)[1:] > reach[:-1]))
    return (
        thread[fresh],
        start[fresh],
        np.maximum.reduceat(end + thread * stride, fresh) - (thread[fresh] * stride),
    )
