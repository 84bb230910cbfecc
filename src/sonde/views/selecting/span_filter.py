"""What happened inside spans: the choice of one name, and the span of every wait for a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.errors import UsageError, did_you_mean
from sonde.model.trees.context_tree import ContextTree
from sonde.row_values import WAIT_BEGIN
from sonde.views.selecting.formatting import some

if TYPE_CHECKING:
    from sonde.model.locks.contention import Contentions, Ints
    from sonde.model.trees.context_tree import Flags
    from sonde.recording.tables import Recording


TRACE_ID = "trace_id"
SPAN_ID = "span_id"
"""The attributes that name the distributed trace which a span belongs to, and its place there."""


class SpanAttribute(NamedTuple):
    """Selects spans by what the program stated about them instead of by name."""

    key: str
    value: str


SpanChoice = str | SpanAttribute


def named(recording: Recording, name: SpanChoice) -> Flags:
    """Which spans have this name or attribute; a usage error if none does."""
    spans = recording.spans
    if isinstance(name, SpanAttribute):
        return _with_attribute(recording, *name)
    flags = np.fromiter((known == name for known in spans.name), bool, len(spans))
    if not flags.any():
        hint = did_you_mean(name, set(spans.name))
        raise UsageError(f"no span {name!r}{hint} in {recording.path}; it has {some(spans.name)}")
    return flags


def _with_attribute(recording: Recording, key: str, value: str) -> Flags:
    of_key = [attributes.get(key) for attributes in recording.spans.attributes]
    flags = np.fromiter((found == value for found in of_key), bool, len(of_key))
    if not flags.any():
        what = "trace" if key == TRACE_ID else f"span with {key}"
        known = some(found for found in of_key if found is not None)
        raise UsageError(f"no {what} {value!r} in {recording.path}; it has {known}")
    return flags


def within(recording: Recording, name: SpanChoice) -> Flags:
    """Which spans are chosen or were entered in one that is; last for no span: no."""
    inside = ContextTree(recording.spans.parent).nearest(named(recording, name)) >= 0
    return np.append(inside, False)


def spans_of_waits(recording: Recording, found: Contentions) -> Ints:
    """The innermost span in which each wait for a lock began, -1: in none."""
    events = recording.lock_events
    begun = np.flatnonzero((events.span >= 0) & (events.type == WAIT_BEGIN))
    keys = zip(
        events.thread[begun].tolist(),
        events.lock[begun].tolist(),
        events.time[begun].tolist(),
        strict=True,
    )
    known = dict(zip(keys, events.span[begun].tolist(), strict=True))
    if not known:
        return np.full(len(found), -1, dtype=np.int64)
    waits = zip(found.thread.tolist(), found.lock.tolist(), found.start.tolist(), strict=True)
    return np.fromiter((known.get(wait, -1) for wait in waits), np.int64, len(found))


def covered(recording: Recording, rows: Flags, start: Ints, end: Ints) -> Ints:
    """By thread row: how long it was in any of these spans, each from `start` to `end`."""
    thread = recording.spans.thread.astype(np.int64)
    size = len(recording.threads)
    mine = np.flatnonzero(rows & (end > start))
    if not len(mine):
        return np.zeros(size, dtype=np.int64)
    # A stride wider than any time keeps the running maximum from reaching the next thread.
    stride = int(end.max()) + 1
    begin = np.maximum(start[mine], 0) + thread[mine] * stride
    over = end[mine] + thread[mine] * stride
    order = np.argsort(begin, kind="stable")
    reach = np.maximum.accumulate(over[order])
    before = np.concatenate([[0], reach[:-1]])
    alone = np.maximum(over[order] - np.maximum(begin[order], before), 0)
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, thread[mine][order], alone)
    return found
