"""Tasks of event loops as the page reads them: `ui/src/data/tasks.ts` is the other side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.locks.contentions import contended
from sonde.views.loops.lock_rows import KIND
from sonde.views.loops.loop_lag import loops_of
from sonde.views.loops.loop_waits import NONE, loop_pieces
from sonde.views.selecting.profile import identities
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.task_filter import keys
from sonde.web.columns import changes, part, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from sonde.model.locks.contention import Ints
    from sonde.recording.tables import Recording


def task_places(recording: Recording, process: ArrayLike, number: ArrayLike) -> Ints:
    """Rows of the table of tasks, by process and id; NONE: none."""
    table, wanted = recording.tasks, keys(process, number)
    if not len(table):
        return np.full(len(wanted), NONE, dtype=np.int64)
    own = keys(table.process, table.id)
    order = np.argsort(own)
    at = np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)
    return np.where(own[order][at] == wanted, order[at], NONE)


def loop_facts(recording: Recording) -> list[dict[str, Any]]:
    """Event loops with their lag over time, each by the row of its thread."""
    tids = recording.threads.tid.tolist()
    return [
        {
            "thread": tids.index(loop.tid),
            "runtime": loop.runtime,
            "steps": loop.steps,
            "lag_ns": loop.lag.to_json(),
            "lag": [[p.start_ns, p.end_ns, p.mean_ns, p.max_ns] for p in loop.series],
        }
        for loop in loops_of(recording, Selection())
    ]


def loop_locks(recording: Recording, loops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Loops as locks that tasks wait for, in the same order; the last stands for unknown ones."""
    if not loops:
        return []
    names, label = contended(recording).thread_names
    called = [f"event loop of {names[int(label[loop['thread']])]}" for loop in loops]
    process = [int(recording.threads.process[loop["thread"]]) for loop in loops]
    return [
        {"name": name, "short": name, "lock_class": "event loop", "kind": KIND, "process": place}
        for name, place in zip([*called, "an event loop"], [*process, process[0]], strict=True)
    ]


def task_part(recording: Recording, node: Callable[[NDArray[Any]], Ints]) -> bytes:
    return part(
        *_tasks(recording),
        *_times(recording),
        *_waits(recording, node),
        *_steps(recording),
        *_pieces(recording, node),
    )


def _tasks(recording: Recording) -> list[bytes]:
    table = recording.tasks
    _, identity = identities(recording)
    whole = np.append(identity[: len(recording.functions)], NONE)
    function = whole[table.function] if len(table) else np.zeros(0, dtype=np.int64)
    return [
        unsigned(table.process),
        unsigned(table.id),
        unsigned(table.kind),
        unsigned(function + 1),
        unsigned(table.parent),
        signed(table.created_ns),
    ]


def _times(recording: Recording) -> list[bytes]:
    table = recording.task_times
    place = task_places(recording, table.process, table.task)
    keep = np.flatnonzero(place >= 0)
    sums = ("steps", "tasks", "running_ns", "ready_ns", "suspended_ns", "caused_ns", "ended")
    columns = [unsigned(getattr(table, name)[keep]) for name in sums]
    return [unsigned(place[keep]), changes(table.time[keep]), *columns]


def _waits(recording: Recording, node: Callable[[NDArray[Any]], Ints]) -> list[bytes]:
    table = recording.task_waits
    place = task_places(recording, recording.threads.process[table.thread], table.task)
    return [
        unsigned(table.thread),
        unsigned(place + 1),
        changes(table.time),
        unsigned(table.ready_ns),
        unsigned(table.suspended_ns),
        unsigned(node(table.context) + 1),
    ]


def _steps(recording: Recording) -> list[bytes]:
    table = recording.task_steps
    place = task_places(recording, recording.threads.process[table.thread], table.task)
    return [
        unsigned(table.thread),
        unsigned(place + 1),
        changes(table.time),
        unsigned(table.duration_ns),
        unsigned(table.caused_ns),
    ]


def _pieces(recording: Recording, node: Callable[[NDArray[Any]], Ints]) -> list[bytes]:
    """What tasks waited for their loops, by what the steps that ran meanwhile did."""
    pieces = loop_pieces(recording, Selection())
    if len(pieces):
        pieces = pieces.by_samples()
    order = np.lexsort((pieces.step, pieces.wait))
    order = order[pieces.ns[order] > 0]
    written = len(recording.task_waits)
    wait, step, context = pieces.wait[order], pieces.step[order], pieces.context[order]
    everything = contended(recording)
    return [
        changes(wait),
        # Waits that have no row of their own have no moment either.
        unsigned(np.where(wait < written, np.append(recording.task_waits.time, 0)[wait], 0)),
        unsigned(pieces.ns[order]),
        unsigned(pieces.thread[order] + 1),
        unsigned(pieces.waiter[order] + 1),
        unsigned(pieces.owner[order] + 1),
        unsigned(node(pieces.waiting_context[order]) + 1),
        unsigned(node(context) + 1),
        unsigned(everything.held_own_function[context] + 1),
        unsigned(everything.held_function[context] + 1),
        unsigned(step + 1),
    ]
