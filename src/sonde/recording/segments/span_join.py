"""Spans of several segments as one table: one that goes on over a segment boundary is one again.

A segment repeats the spans that were open when it began, and others that something in it lies in,
each with its old beginning. So thread and beginning identify it, also where a segment between is
missing; its name and attributes may have changed meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sonde.recording.tables import Spans

NOT_LEFT = -1
"""Instead of its end, of a span that was open when the recording ended."""

# A ring may be drained late, and what is found there lie in a span that has ended meanwhile.
_RECENT_NS = 10_000_000_000

Ints = NDArray[np.int64]


def alone(spans: Spans) -> Spans:
    """As they lie in a segment that stands for itself."""
    left = np.where(spans.end_ns == NOT_LEFT, NOT_LEFT, np.maximum(spans.end_ns, 0))
    return replace(spans, start_ns=np.maximum(spans.start_ns, 0), end_ns=left)


@dataclass
class _Known:
    """One that a later segment may repeat."""

    place: int
    end: int


class SpanJoin:
    def __init__(self) -> None:
        self._thread: list[NDArray[np.uint32]] = []
        self._start: list[Ints] = []
        self._end: list[Ints] = []
        self._task: list[NDArray[np.uint64]] = []
        self._names: list[str] = []
        self._parent: list[NDArray[np.int32]] = []
        self._attributes: list[dict[str, str]] = []
        self._known: dict[tuple[int, int], _Known] = {}
        self._left_later: dict[int, int] = {}

    def add(self, spans: Spans, start: int, length: int, thread: Ints) -> Ints:
        """Those of the next segment, from `start` on; `thread` shows where its threads are by now.

        The answer is their places by row, and last for none.
        """
        whose, begun = thread[spans.thread], spans.start_ns + start
        is_open = spans.end_ns == NOT_LEFT
        # What no segment has had before begins with the segment, as far as anybody knows.
        seen = np.maximum(begun, start)
        end = np.where(is_open, NOT_LEFT, np.maximum(spans.end_ns + start, seen))
        places = np.full(len(spans) + 1, -1, dtype=np.int64)

        def key(row: int) -> tuple[int, int]:
            return int(whose[row]), int(begun[row])

        for row in np.flatnonzero(spans.start_ns < 0).tolist():
            known = self._known.get(key(row))
            if known is None:
                continue
            places[row] = known.place
            self._names[known.place] = spans.name[row]
            self._attributes[known.place] = spans.attributes[row]
            if known.end == NOT_LEFT and not is_open[row]:
                known.end = int(spans.end_ns[row]) + start
                self._left_later[known.place] = known.end
        new = np.flatnonzero(places[:-1] < 0)
        places[new] = np.arange(len(self._names), len(self._names) + len(new))
        self._thread.append(whose[new].astype(np.uint32))
        self._start.append(seen[new])
        self._end.append(end[new])
        self._task.append(spans.task[new])
        self._names += [spans.name[row] for row in new.tolist()]
        self._attributes += [spans.attributes[row] for row in new.tolist()]
        self._parent.append(places[spans.parent[new]].astype(np.int32))

        recent = start + length - _RECENT_NS
        self._known = {
            key: known
            for key, known in self._known.items()
            if known.end == NOT_LEFT or known.end >= recent
        }
        for row in new[is_open[new] | (end[new] >= recent)].tolist():
            self._known[key(row)] = _Known(int(places[row]), int(end[row]))
        return places

    def table(self) -> Spans:
        end = np.concatenate(self._end)
        for place, left in self._left_later.items():
            end[place] = left
        return Spans(
            np.concatenate(self._thread),
            np.concatenate(self._start),
            end,
            self._names,
            np.concatenate(self._parent),
            self._attributes,
            np.concatenate(self._task),
        )
