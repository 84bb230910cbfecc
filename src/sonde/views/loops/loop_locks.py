"""Waits for event loops among those for locks: the loop is the lock, a task that runs holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.locks.locks import DEFAULT, Locks, locks
from sonde.views.loops.lock_rows import cut, loop_rows, merged, task_rows
from sonde.views.loops.loop_waits import NONE, loop_pieces
from sonde.views.loops.task_locks import task_pieces
from sonde.views.selecting.profile import Function, Profile, identities, summed_up
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.recording.tables import Recording

NOT_SAMPLED = Function("[not sampled]", "", 0, "")


def locks_and_loops(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: Sequence[str] = DEFAULT,
    top: int | None = None,
) -> Locks:
    """The view `locks`, with what tasks waited for their loops and for each other."""
    selection = selection or Selection()
    if not len(recording.loop_times) or selection.span is not None:
        return locks(recording, selection, by=by, top=top)
    found = locks(recording, selection, by=by)
    loops, tasks = loop_pieces(recording, selection), task_pieces(recording, selection)
    rows = merged(merged(found.rows, loop_rows(loops, by)), task_rows(tasks, by))
    cut(rows, top)
    loop_waits = np.unique(loops.wait[loops.wait < len(recording.task_waits)])
    return replace(
        found,
        total_ns=found.total_ns + loops.total_ns + tasks.total_ns,
        signalling_ns=found.signalling_ns + int(tasks.ns[tasks.signals].sum()),
        after_notification_ns=found.after_notification_ns
        + int(tasks.ns[tasks.after_notification].sum()),
        unknown_ns=found.unknown_ns + loops.unknown_ns + tasks.unknown_ns,
        count=found.count + len(loop_waits) + len(np.unique(tasks.wait)),
        loop_ns=loops.total_ns,
        task_ns=tasks.total_ns,
        rows=rows,
        chains=found.chains[:top],
        held_samples=None
        if found.held_samples is None
        else found.held_samples + loops.held_samples,
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


def function_of(value: Any) -> Function | None:
    """The function behind a row's value."""
    if not isinstance(value, dict):
        return None
    return Function(value["name"], value["file"], value["line"], value["runtime"])
