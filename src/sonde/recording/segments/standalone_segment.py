"""A segment of a session that is opened without the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.segments import span_join
from sonde.recording.segments.segment_boundary import rows_of
from sonde.recording.tables import LockEvents, Objects, Pauses, Recording
from sonde.row_values import RUNNING


def alone(part: Recording) -> Recording:
    """A segment as it stands for itself: what lies before it is left out."""
    if not isinstance(part.target.get("session"), dict):
        return part
    samples, events, threads = part.samples, part.lock_events, part.threads
    if (samples.time < 0).any():
        keep = (samples.time >= 0) | (samples.state == RUNNING)
        samples = rows_of(samples, keep)
        samples = replace(samples, time=np.maximum(samples.time, 0))
    if (events.time < 0).any():
        events = replace(events, sequence=_renumbered(events), time=np.maximum(events.time, 0))
    pauses = part.pauses
    return replace(
        part,
        samples=samples,
        lock_events=events,
        threads=replace(threads, start_ns=np.maximum(threads.start_ns, 0)),
        marks=replace(part.marks, time=np.maximum(part.marks.time, 0)),
        objects=_objects(part.objects),
        windows=replace(part.windows, time=np.maximum(part.windows.time, 0)),
        event_samples=_from_the_start(part.event_samples),
        lock_samples=_from_the_start(part.lock_samples),
        chained=_from_the_start(part.chained),
        task_times=_from_the_start(part.task_times),
        task_waits=_from_the_start(part.task_waits),
        task_steps=_from_the_start(part.task_steps),
        task_resumptions=_from_the_start(part.task_resumptions),
        task_awaiters=_from_the_start(part.task_awaiters),
        spans=span_join.alone(part.spans),
        pauses=Pauses(np.maximum(pauses.start_ns, 0), np.maximum(pauses.end_ns, 0)),
    )


def _objects(table: Objects) -> Objects:
    """Those with an id keep their time, because they may have been alive long before."""
    return replace(table, time=np.where(table.id == 0, np.maximum(table.time, 0), table.time))


def _from_the_start(table: Any) -> Any:
    return replace(table, time=np.maximum(table.time, 0))


def _renumbered(events: LockEvents) -> NDArray[np.uint64]:
    """Sequence numbers of a segment alone: events repeated in it come just before its own.

    They were numbered long before, and a gap in the numbers would mean lost ones.
    """
    sequence = events.sequence.copy()
    repeated = events.time < 0
    for lock in np.unique(events.lock[repeated]).tolist():
        mine = events.lock == lock
        own = sequence[mine & ~repeated]
        rows = np.flatnonzero(mine & repeated)
        if len(own):
            rows = rows[np.argsort(sequence[rows])]
            first = int(own.min())
            # A number below the repeated ones came late itself, and is one of the same run.
            if first > len(rows) and first > int(sequence[rows[-1]]):
                sequence[rows] = np.arange(first - len(rows), first, dtype=np.uint64)
    return sequence
