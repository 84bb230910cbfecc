"""Which tasks of event loops a person means, and the samples of those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError, did_you_mean
from sonde.row_values import TASK
from sonde.views.selecting.formatting import some

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.tables import Recording

# A process's tasks are numbered, so that process and number make one key.
_PROCESS_BITS = 44


def keys(process: ArrayLike, number: ArrayLike) -> Ints:
    """One number for each task of the recording."""
    return (np.asarray(process, dtype=np.int64) << _PROCESS_BITS) | np.asarray(
        number, dtype=np.int64
    )


def tasks_called(recording: Recording, wanted: str) -> Flags:
    """Rows of tasks with this name, id, or coroutine function; a usage error if there are none."""
    table, functions = recording.tasks, recording.functions
    names = [
        (name, functions.name[function] if function >= 0 else "")
        for name, function in zip(table.name, table.function.tolist(), strict=True)
    ]
    found = np.fromiter((wanted in pair for pair in names), bool, len(table))
    if wanted.isdecimal():
        found |= table.id == int(wanted)
    found &= table.kind == TASK
    if not found.any():
        known = [table.name[row] for row in np.flatnonzero(table.kind == TASK)]
        if not known:
            raise UsageError(
                f"{recording.path} has no tasks; record them with: sonde run --what +tasks …"
            )
        raise UsageError(
            f"no task {wanted!r}{did_you_mean(wanted, set(known))} in {recording.path}; "
            f"it has {some(known)}"
        )
    return found


def rows_of_tasks(recording: Recording, wanted: Ints) -> Ints:
    """The rows of the tasks with these keys; -1: none."""
    table = recording.tasks
    if not len(table):
        return np.full(len(wanted), -1, dtype=np.int64)
    own = keys(table.process, table.id)
    order = np.argsort(own)
    at = np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)
    found: Ints = np.where(own[order][at] == wanted, order[at], -1)
    return found


def of_task(
    recording: Recording, thread: NDArray[np.uint32], task: NDArray[np.uint64], wanted: str
) -> Flags:
    """Which rows are of a task that is called so."""
    table = recording.tasks
    chosen = keys(table.process, table.id)[tasks_called(recording, wanted)]
    flags: Flags = np.isin(keys(recording.threads.process[thread], task), chosen)
    return flags


def in_task(recording: Recording, rows: Ints, wanted: str) -> Flags:
    """Which of these samples were taken in a task that is called so."""
    samples = recording.samples
    return of_task(recording, samples.thread[rows], samples.task[rows], wanted)
