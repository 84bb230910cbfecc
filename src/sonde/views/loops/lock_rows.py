"""Rows of the view `locks` about tasks: what they waited for their loops and for each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sonde.model.locks.lock_kinds import KINDS
from sonde.row_values import TASK
from sonde.views.locks.contentions import contended
from sonde.views.locks.held_in import HELD_IN
from sonde.views.locks.locks import LocksRow, in_order
from sonde.views.loops.loop_waits import NONE, LoopPieces
from sonde.views.loops.task_locks import TaskPieces
from sonde.views.selecting.profile import identities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.tables import Recording

KIND = "loop"
Column = tuple["Ints", "Callable[[int], Any]"]
"""A number for each piece, and what it means in JSON."""


class Pieces(Protocol):
    """Parts of waits; one that has no row of its own has the number after the last."""

    @property
    def recording(self) -> Recording: ...
    @property
    def wait(self) -> Ints: ...
    @property
    def ns(self) -> Ints: ...
    @property
    def signals(self) -> Flags: ...
    @property
    def after_notification(self) -> Flags: ...


def loop_rows(pieces: LoopPieces, by: Sequence[str]) -> list[LocksRow]:
    if any(aspect.startswith(HELD_IN) or aspect == "owner_chain" for aspect in by):
        pieces = pieces.by_samples()
    columns = [_aspect_of_loop(pieces, aspect) for aspect in by]
    return _family(pieces, tuple(by), columns, np.flatnonzero(pieces.ns > 0), 0)


def task_rows(pieces: TaskPieces, by: Sequence[str]) -> list[LocksRow]:
    columns = [_aspect_of_task(pieces, aspect) for aspect in by]
    return _family(pieces, tuple(by), columns, np.flatnonzero(pieces.ns > 0), 0)


def _aspect_of_loop(pieces: LoopPieces, aspect: str) -> Column:
    recording, everything = pieces.recording, contended(pieces.recording)
    names, threads = everything.thread_names
    chains = everything.chains

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
        return _task_names(recording, row)
    function = np.append(recording.tasks.function.astype(np.int64), NONE)[row]
    _, identity = identities(recording)
    whole = np.append(identity[: len(recording.functions)], NONE)
    return whole[function], lambda number: chains.functions[number].to_json()


def _task_names(recording: Recording, row: Ints) -> Column:
    tasks = recording.tasks
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


def _aspect_of_task(pieces: TaskPieces, aspect: str) -> Column:
    recording, everything, table = pieces.recording, contended(pieces.recording), pieces.table
    names, threads = everything.thread_names
    chains, waits, resumed = everything.chains, recording.task_waits, recording.task_resumptions
    if aspect == "kind":
        return table.kind[pieces.wait], lambda kind: KINDS[kind]
    if aspect == "lock":
        return table.lock[pieces.wait], lambda lock: table.locks[lock].name
    if aspect == "lock_class":
        classes = list(dict.fromkeys(lock.lock_class for lock in table.locks))
        number = {name: i for i, name in enumerate(classes)}
        of = np.array([number[lock.lock_class] for lock in table.locks], dtype=np.int64)
        return of[table.lock[pieces.wait]], lambda code: classes[code]
    if aspect.startswith(HELD_IN):
        return np.full(len(pieces), NONE, dtype=np.int64), lambda _: None
    waiter = aspect.startswith("waiter")
    if aspect.endswith("_task"):
        return _task_names(recording, pieces.waiter if waiter else pieces.owner)
    if waiter:
        thread, context = waits.thread[pieces.wait].astype(np.int64), waits.context[pieces.wait]
    else:
        thread = np.append(resumed.thread.astype(np.int64), NONE)[pieces.resumption]
        context = np.append(resumed.context.astype(np.int64), NONE)[pieces.resumption]
    if aspect.endswith("_thread"):
        return threads[thread], lambda number: names[number]
    if aspect.endswith("_chain"):
        return chains.node[context], chains.to_json
    _, identity = identities(recording)
    functions = np.append(identity[recording.contexts.function], NONE)
    place = np.full(len(recording.contexts) + 1, NONE, dtype=np.int64)
    for node in np.unique(context[context >= 0]).tolist():
        place[node] = table.kinds.place(node).context if waiter else table.kinds.outside(node)
    return functions[place[context]], lambda number: chains.functions[number].to_json()


def _family(
    pieces: Pieces, by: tuple[str, ...], columns: list[Column], rows: Ints, level: int
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
                int(pieces.ns[mine][pieces.signals[mine]].sum()),
                int(pieces.ns[mine][pieces.after_notification[mine]].sum()),
                int(with_row.sum()),
                int(length[with_row].max(initial=0)),
                [(1 << int(size), int(n)) for size, n in zip(sizes, counts, strict=True)],
                _family(pieces, by, columns, mine, level + 1),
            )
        )
    in_order(found)
    return found


def merged(rows: list[LocksRow], others: list[LocksRow]) -> list[LocksRow]:
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
        row.signalling_ns += other.signalling_ns
        row.after_notification_ns += other.after_notification_ns
        row.count += other.count
        row.max_ns = max(row.max_ns, other.max_ns)
        row.histogram = sorted(histogram.items())
        row.children = merged(row.children, other.children)
    in_order(result)
    return result


def cut(rows: list[LocksRow], top: int | None) -> None:
    for row in rows:
        cut(row.children, top)
    if top is not None:
        del rows[top:]
