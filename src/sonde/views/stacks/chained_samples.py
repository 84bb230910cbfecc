"""Recordings whose samples show only a function and its caller, with the tree put together."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.chaining import Link, Rebuilt, split
from sonde.recording.reader import files_of, read, read_parts
from sonde.recording.tables import Contexts, EventSamples, Samples
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


def open_recording(*paths: str | os.PathLike[str], samples: bool = True) -> Recording:
    """A recording, or the parts of one, as every view wants it.

    `samples` False is for `quality`, which needs only their totals.
    """
    found = (
        read(paths[0], samples=samples) if len(paths) == 1 else read_parts(paths, samples=samples)
    )
    if not samples and len(found.chained):
        return open_recording(*paths)
    return rebuilt(found)


def open_runs(*names: str) -> list[Recording]:
    """The recordings that folders hold or patterns name, with segments of one session joined.

    A recording that stands alone has a session, too, but no second file with it.
    """
    sessions: dict[Any, list[str]] = {}
    opened: dict[str, Recording] = {}
    for file in dict.fromkeys(file for name in names for file in files_of(name)):
        opened[file] = open_recording(file)
        session = opened[file].target.get("session")
        key = session.get("id") if isinstance(session, dict) else None
        sessions.setdefault(key if isinstance(key, str) else (file,), []).append(file)
    return [
        opened[files[0]] if len(files) == 1 else open_recording(*files)
        for files in sessions.values()
    ]


def rebuilt(recording: Recording) -> Recording:
    """The same where samples are whole; else each has its contexts, and is split over them."""
    chained, table = recording.chained, recording.links
    if not len(chained):
        return recording
    links = [
        Link(*row)
        for row in zip(table.node.tolist(), table.caller.tolist(), table.line.tolist(), strict=True)
    ]
    of_time = chained.event < 0
    known = chained.link >= 0
    seen = np.bincount(chained.link[known & of_time], minlength=len(links)).tolist()
    had = recording.contexts
    places_had = list(
        zip(had.parent.tolist(), had.function.tolist(), had.line.tolist(), strict=True)
    )
    functions = recording.chain_nodes.function.tolist()
    tree = Rebuilt(functions, links, seen, places_had, _through(recording))
    places, inverse = np.unique(
        np.column_stack((chained.link, chained.line)), axis=0, return_inverse=True
    )
    ways = [tree.ways(links[link], line) if link >= 0 else None for link, line in places.tolist()]
    rows: list[int] = []
    context: list[int] = []
    weight: list[int] = []
    for row, (place, ns) in enumerate(
        zip(inverse.reshape(-1).tolist(), chained.weight.tolist(), strict=True)
    ):
        found = ways[place]
        if found is None:
            rows.append(row)
            context.append(-1)
            weight.append(ns)
            continue
        for way, part in zip(found, split(ns, found), strict=True):
            if part or len(found) == 1:
                rows.append(row)
                context.append(way.context)
                weight.append(part)
    added = np.array(tree.contexts, dtype=np.int32).reshape(-1, 3)
    contexts = Contexts(
        parent=np.append(recording.contexts.parent, added[:, 0]).astype(np.int32),
        function=np.append(recording.contexts.function, added[:, 1]).astype(np.int32),
        line=np.append(recording.contexts.line, added[:, 2]).astype(np.int32),
    )
    at, where, ns_of = np.array(rows), np.array(context, np.int32), np.array(weight, np.int64)
    timed = of_time[at]
    quality = {**recording.quality, "chaining": tree.ambiguity(links, seen).to_json()}
    return replace(
        recording,
        contexts=contexts,
        samples=_more_samples(recording, at[timed], where[timed], ns_of[timed]),
        event_samples=_more_events(recording, at[~timed], where[~timed], ns_of[~timed]),
        quality=quality,
    )


def _through(recording: Recording) -> list[int]:
    """Of each context, how many whole stacks go through it."""
    samples, parents = recording.samples, recording.contexts.parent
    running = samples.context[(samples.state == RUNNING) & (samples.context >= 0)]
    counts: list[int] = np.bincount(running, minlength=len(recording.contexts)).tolist()
    # Parents come before their children.
    for row in range(len(counts) - 1, -1, -1):
        if (parent := parents[row]) >= 0:
            counts[parent] += counts[row]
    return counts


def _more_samples(
    recording: Recording, rows: np.ndarray, context: np.ndarray, weight: np.ndarray
) -> Samples:
    chained, had = recording.chained, recording.samples
    order = np.argsort(np.append(had.time, chained.time[rows]), kind="stable")
    return Samples(
        thread=np.append(had.thread, chained.thread[rows])[order],
        time=np.append(had.time, chained.time[rows])[order],
        context=np.append(had.context, context)[order],
        weight=np.append(had.weight, weight)[order],
        state=np.append(had.state, np.full(len(rows), RUNNING, had.state.dtype))[order],
        span=np.append(had.span, np.full(len(rows), -1, had.span.dtype))[order],
        processor=np.append(had.processor, chained.processor[rows])[order],
    )


def _more_events(
    recording: Recording, rows: np.ndarray, context: np.ndarray, weight: np.ndarray
) -> EventSamples:
    chained, had = recording.chained, recording.event_samples
    order = np.argsort(np.append(had.time, chained.time[rows]), kind="stable")

    def more(column: np.ndarray, values: np.ndarray | int) -> np.ndarray:
        added = np.broadcast_to(np.asarray(values), len(rows)).astype(column.dtype)
        return np.append(column, added)[order]

    return EventSamples(
        thread=more(had.thread, chained.thread[rows]),
        time=more(had.time, chained.time[rows]),
        event=more(had.event, chained.event[rows]),
        context=more(had.context, context),
        weight=more(had.weight, weight),
        span=more(had.span, -1),
        address=more(had.address, 0),
        memory=more(had.memory, 0),
        type=more(had.type, -1),
        offset=more(had.offset, 0),
    )
