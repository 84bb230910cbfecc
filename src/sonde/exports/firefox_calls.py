"""Calls in the Firefox Profiler's format: a track for each thread that has some.

The format draws nested calls from samples only. So each entry and exit is a sample, whose stack is
what runs from then on, and whose weight is the time up to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.model.trees.context_tree import ContextTree
from sonde.views.flow.flow_slices import flow_slices
from sonde.views.selecting.profile import identities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.selection import Selection

AT_ONCE = 1 << 16
"""Samples."""


class CallTracks(NamedTuple):
    """The samples of all threads; `bounds` is where those of each one in `threads` begin."""

    threads: list[int]
    bounds: list[int]
    tree: ContextTree
    function: Ints
    stack: Ints
    """A node of the tree, -1: no call."""
    time: Ints
    weight: Ints


def call_tracks(recording: Recording, selection: Selection) -> CallTracks | None:
    slices = flow_slices(recording, selection)
    if not len(slices):
        return None
    contexts = recording.contexts
    whole = ContextTree(contexts.parent)
    used = np.zeros(len(contexts), dtype=np.int64)
    used[slices.context] = 1
    kept, old = whole.kept(whole.totals(used) > 0)
    merged = kept.merged(identities(recording)[1][contexts.function[old]])
    node_of = np.full(len(contexts), -1, dtype=np.int64)
    node_of[old] = merged.node
    rows, begins = slices.ordered()
    node = node_of[slices.context[rows]]
    stack = np.where(begins, node, merged.tree.parent[node])
    # Behind the outermost of the calls that are known, nothing is.
    stack[np.cumsum(np.where(begins, 1, -1)) == 0] = -1
    time = np.maximum(np.where(begins, slices.start[rows], slices.end[rows]), 0)
    thread = slices.thread[rows]
    bounds = np.flatnonzero(np.diff(thread, prepend=-1, append=-1))
    weight = np.append(np.maximum(np.diff(time), 0), 0)
    weight[bounds[1:] - 1] = 0
    return CallTracks(
        thread[bounds[:-1]].tolist(), bounds.tolist(), merged.tree, merged.key, stack, time, weight
    )


def add_stacks(
    shared: dict[str, Any],
    tracks: CallTracks,
    functions: list[Function],
    category: Callable[[Function], int],
) -> int:
    """A frame for each function and a stack for each node; the number of the first stack."""
    frames, stacks = shared["frameTable"], shared["stackTable"]
    first_frame, first = frames["length"], stacks["length"]
    used, frame = np.unique(tracks.function, return_inverse=True)
    fixed = {
        "address": -1,
        "inlineDepth": 0,
        "subcategory": 0,
        "nativeSymbol": None,
        "innerWindowID": 0,
        "column": None,
    }
    for column, value in fixed.items():
        frames[column] += [value] * len(used)
    frames["category"] += [category(functions[number]) for number in used.tolist()]
    frames["func"] += used.tolist()
    frames["line"] += [functions[number].line or None for number in used.tolist()]
    frames["length"] += len(used)
    stacks["frame"] += (frame + first_frame).tolist()
    stacks["prefix"] += [None if p < 0 else p + first for p in tracks.tree.parent.tolist()]
    stacks["length"] += len(tracks.tree)
    return int(first)


def samples(tracks: CallTracks, track: int, first: int, encode: Any) -> Iterator[str]:
    """The samples of a track as JSON, in pieces."""
    start, end = tracks.bounds[track], tracks.bounds[track + 1]
    pieces = [(at, min(at + AT_ONCE, end)) for at in range(start, end, AT_ONCE)]

    def column(values: Callable[[int, int], list[Any]]) -> Iterator[str]:
        for at, until in pieces:
            yield ("," if at > start else "") + encode(values(at, until))[1:-1]

    def stack(at: int, until: int) -> list[Any]:
        return [None if node < 0 else node + first for node in tracks.stack[at:until].tolist()]

    yield '{"stack":['
    yield from column(stack)
    yield '],"time":['
    yield from column(lambda at, until: (tracks.time[at:until] / 1e6).tolist())
    yield '],"weight":['
    yield from column(lambda at, until: (tracks.weight[at:until] / 1e6).tolist())
    yield f'],"weightType":"tracing-ms","length":{end - start}}}'
