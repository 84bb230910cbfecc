"""Waits for event loops among those for locks: the loop is the lock, a task that runs holds it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.row_values import TASK
from sonde.views.locks.contentions import contended
from sonde.views.locks.held_in import HELD_IN
from sonde.views.locks.locks import DEFAULT, Locks, LocksRow, in_order, locks
from sonde.views.loops.loop_waits import NONE, LoopPieces, loop_pieces
from sonde.views.selecting.profile import Function, Profile, identities, summed_up
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

KIND = "loop"
NOT_SAMPLED = Function("[not sampled]", "", 0, "")


def locks_and_loops(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: Sequence[str] = DEFAULT,
    top: int | None = None,
) -> Locks:
    """The view `locks`, with what tasks waited for their loops."""
    selection = selection or Selection()
    if not len(recording.loop_times) or selection.span is not None:
        return locks(recording, selection, by=by, top=top)
    found = locks(recording, selection, by=by)
    pieces = loop_pieces(recording, selection)
    rows = _merged(found.rows, loop_rows(pieces, by))
    _cut(rows, top)
    return replace(
        found,
        total_ns=found.total_ns + pieces.total_ns,
        unknown_ns=found.unknown_ns + pieces.unknown_ns,
        count=found.count + len(np.unique(pieces.wait[pieces.wait < len(recording.task_waits)])),
        loop_ns=pieces.total_ns,
        rows=rows,
        chains=found.chains[:top],
    )


def profile_while_loop_held(
    recording: Recording, selection: Selection, *, merge_lines: bool = False
) -> Profile:
    """What steps did while others were ready, each nanosecond once per waiter."""
    pieces = loop_pieces(recording, selection).by_samples()
    size = len(recording.contexts) + 1
    place = np.where(pieces.context == NONE, size - 1, pieces.context)
    own = np.bincount(place, weights=pieces.ns, minlength=size).astype(np.int64)
    count = (np.bincount(place, minlength=size) > 0).astype(np.int64)
    none = np.zeros(size, dtype=np.int64)
    functions, identity = identities(recording)
    return summed_up(
        [*functions[:-1], NOT_SAMPLED],
        recording.contexts.parent,
        identity[np.append(recording.contexts.function, NONE)],
        recording.contexts.line,
        [own, none, count, none],
        merge_lines=merge_lines,
    )


# ---- rows


def loop_rows(pieces: LoopPieces, by: Sequence[str]) -> list[LocksRow]:
    if any(aspect.startswith(HELD_IN) or aspect == "owner_chain" for aspect in by):
        pieces = pieces.by_samples()
    columns = [_aspect(pieces, aspect) for aspect in by]
    return _family(pieces, tuple(by), columns, np.flatnonzero(pieces.ns > 0), 0)


Column = tuple["Ints", "Callable[[int], Any]"]
"""A number for each piece, and what it means in JSON."""


def _aspect(pieces: LoopPieces, aspect: str) -> Column:
    recording, everything = pieces.recording, contended(pieces.recording)
    names, threads = everything.thread_names
    chains, tasks = everything.chains, recording.tasks

    def constant(text: str) -> Column:
        return np.zeros(len(pieces), dtype=np.int64), lambda _: text

    if aspect == "kind":
        return constant(KIND)
    if aspect == "lock_class":
        return constant("event loop")
    if aspect in ("lock", "waiter_thread", "owner_thread"):
        prefix = "event loop of " if aspect == "lock" else ""
        value = threads[pieces.thread]
        if aspect == "owner_thread":
            value = np.where(pieces.step == NONE, NONE, value)
        return value, lambda thread: prefix + names[thread]
    if aspect == "waiter_chain":
        return chains.node[pieces.waiting_context], chains.to_json
    if aspect in ("owner_chain", "held_in_chain"):
        return chains.node[pieces.context], chains.to_json
    if aspect.startswith(HELD_IN):
        own = everything.held_own_function if aspect == "held_in_own" else everything.held_function
        return own[pieces.context], lambda function: chains.functions[function].to_json()
    row = pieces.waiter if aspect.startswith("waiter") else pieces.owner
    if aspect.endswith("_task"):
        called = [
            name or str(number) for name, number in zip(tasks.name, tasks.id.tolist(), strict=True)
        ]
        numbers: dict[str, int] = {}
        code = [
            numbers.setdefault(name, len(numbers)) if kind == TASK else NONE
            for name, kind in zip(called, tasks.kind.tolist(), strict=True)
        ]
        known = list(numbers)
        return np.array([*code, NONE], dtype=np.int64)[row], lambda number: known[number]
    function = np.append(tasks.function.astype(np.int64), NONE)[row]
    _, identity = identities(recording)
    whole = np.append(identity[: len(recording.functions)], NONE)
    return whole[function], lambda number: chains.functions[number].to_json()


def _family(
    pieces: LoopPieces, by: tuple[str, ...], columns: list[Column], rows: Ints, level: int
) -> list[LocksRow]:
    if level == len(by):
        return []
    codes, decode = columns[level]
    order = rows[np.argsort(codes[rows], kind="stable")]
    bounds = np.flatnonzero(np.diff(codes[order], prepend=-2))
    found = []
    for mine in np.split(order, bounds[1:]):
        if not len(mine):
            continue
        code = int(codes[mine[0]])
        waits, inverse = np.unique(pieces.wait[mine], return_inverse=True)
        length = np.bincount(inverse, weights=pieces.ns[mine]).astype(np.int64)
        with_row = waits < len(pieces.recording.task_waits)
        bucket = np.frexp(np.maximum(length[with_row] - 1, 0).astype(np.float64))[1]
        sizes, counts = np.unique(bucket, return_counts=True)
        found.append(
            LocksRow(
                by[level],
                None if code == NONE else decode(code),
                int(length.sum()),
                0,
                0,
                int(with_row.sum()),
                int(length[with_row].max(initial=0)),
                [(1 << int(size), int(n)) for size, n in zip(sizes, counts, strict=True)],
                _family(pieces, by, columns, mine, level + 1),
            )
        )
    in_order(found)
    return found


def _merged(rows: list[LocksRow], others: list[LocksRow]) -> list[LocksRow]:
    """Rows of the same value are one."""
    known = {json.dumps(row.value): row for row in rows}
    result = list(rows)
    for other in others:
        row = known.get(json.dumps(other.value))
        if row is None:
            result.append(other)
            continue
        histogram = dict(row.histogram)
        for upper, count in other.histogram:
            histogram[upper] = histogram.get(upper, 0) + count
        row.wait_ns += other.wait_ns
        row.count += other.count
        row.max_ns = max(row.max_ns, other.max_ns)
        row.histogram = sorted(histogram.items())
        row.children = _merged(row.children, other.children)
    in_order(result)
    return result


def _cut(rows: list[LocksRow], top: int | None) -> None:
    for row in rows:
        _cut(row.children, top)
    if top is not None:
        del rows[top:]


def function_of(value: Any) -> Function | None:
    """The function behind a row's value."""
    if not isinstance(value, dict):
        return None
    return Function(value["name"], value["file"], value["line"], value["runtime"])
