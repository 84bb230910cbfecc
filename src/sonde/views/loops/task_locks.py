"""Waits of tasks for locks, queues and events of asyncio, and for what other tasks produce."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sonde.model.locks.asyncio_locks import OWNED, AwaitedKinds
from sonde.model.locks.lock_kinds import KINDS
from sonde.row_values import WOKEN_TASK, WOKEN_THREAD
from sonde.views.locks.lock_classes import LockClasses
from sonde.views.locks.lock_identity import Lock, distinguished
from sonde.views.locks.lock_names import LockSite, named
from sonde.views.loops.loop_lag import in_range
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.sources import Sources
from sonde.views.selecting.task_filter import keys, of_task, rows_of_tasks

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.tables import Recording

NONE = -1
"""In place of a row: it is not known, or there is none."""
NUMBER = {kind: i for i, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class TaskWaitTable:
    """Of all suspensions with a row: what for, and who ended them; columns are by that row."""

    recording: Recording
    kinds: AwaitedKinds
    start: Ints
    end: Ints
    kind: Ints
    """As in KINDS; NONE: for no other task, but a timer, input or output."""
    reacquires: Flags
    """For the lock of a condition, after that was notified."""
    resumption: Ints
    """Row of `task_resumptions`."""
    lock: Ints
    """As in `locks`; NONE where `kind` is."""
    locks: list[Lock] = field(default_factory=list)

    @cached_property
    def signalling(self) -> Flags:
        owned = np.array([kind in OWNED for kind in KINDS] + [False], dtype=bool)
        flags: Flags = ~owned[self.kind] & (self.kind != NONE)
        return flags


def task_wait_table(recording: Recording) -> TaskWaitTable:
    """Kept with the recording: several views need it."""
    kept = vars(recording)
    if "_task_wait_table" not in kept:
        kept["_task_wait_table"] = _table(recording)
    found: TaskWaitTable = kept["_task_wait_table"]
    return found


def _table(recording: Recording) -> TaskWaitTable:
    waits, contexts, functions = recording.task_waits, recording.contexts, recording.functions
    kinds = AwaitedKinds(contexts.parent, contexts.function, functions.name, functions.file)
    end = waits.time - waits.ready_ns
    start = end - waits.suspended_ns
    of = np.full(len(contexts) + 1, NUMBER["future"], dtype=np.int64)
    again = np.zeros(len(contexts) + 1, dtype=bool)
    for context in np.unique(waits.context[waits.context >= 0]).tolist():
        place = kinds.place(context)
        of[context], again[context] = NUMBER[place.kind], place.reacquires
    kind = of[waits.context]
    resumed = (waits.woken == WOKEN_TASK) | (waits.woken == WOKEN_THREAD)
    none = (waits.suspended_ns <= 0) | ((kind == NUMBER["future"]) & ~resumed)
    kind = np.where(none, NONE, kind)
    lock, locks = _locks(recording, kinds, kind, waits.suspended_ns)
    return TaskWaitTable(
        recording, kinds, start, end, kind, again[waits.context],
        _resumptions(recording, start, end), lock, locks,
    )  # fmt: skip


def _resumptions(recording: Recording, start: Ints, end: Ints) -> Ints:
    """Of each wait the last row that says who ended it."""
    waits, rows = recording.task_waits, recording.task_resumptions
    if not len(rows):
        return np.full(len(waits), NONE, dtype=np.int64)
    process = recording.threads.process
    of_row = keys(process[rows.thread], rows.task)
    order = np.lexsort((rows.time, of_row))
    known = list(zip(of_row[order].tolist(), rows.time[order].tolist(), strict=True))
    wanted = keys(process[waits.thread], waits.task)
    found = np.full(len(waits), NONE, dtype=np.int64)
    asked = np.lexsort((end, wanted))
    at = 0
    for wait in asked.tolist():
        key = int(wanted[wait])
        while at < len(known) and known[at] <= (key, int(end[wait])):
            at += 1
        if at and known[at - 1][0] == key and known[at - 1][1] >= start[wait]:
            found[wait] = order[at - 1]
    return found


def _locks(
    recording: Recording, kinds: AwaitedKinds, kind: Ints, spent: Ints
) -> tuple[Ints, list[Lock]]:
    """One number for everything that is one lock to a person: of an object its address, else the
    place that waits."""
    waits, contexts, functions = recording.task_waits, recording.contexts, recording.functions
    numbers: dict[tuple[int, ...], int] = {}
    places: list[Counter[tuple[int, int]]] = []
    codes = np.full(len(waits), NONE, dtype=np.int64)
    process = recording.threads.process[waits.thread]
    for row in np.flatnonzero(kind != NONE).tolist():
        what, context, address = int(kind[row]), int(waits.context[row]), int(waits.object[row])
        site = kinds.place(context).context if context >= 0 else NONE
        place = (int(contexts.function[site]), int(contexts.line[site])) if site >= 0 else (NONE, 0)
        is_object = address != 0 and KINDS[what] != "future"
        key = (what, int(process[row]), address if is_object else 0, *(() if is_object else place))
        code = codes[row] = numbers.setdefault(key, len(numbers))
        if code == len(places):
            places.append(Counter())
        places[code][place] += int(spent[row])
    started = recording.target.get("started")
    sources = Sources(float(started) if isinstance(started, int | float) else None)
    classes = LockClasses(sources, functions.file)
    locks = []
    for key, number in numbers.items():
        ((function, line), _), *_ = places[number].most_common(1)
        at = LockSite(
            functions.name[function] if function >= 0 else "unknown place",
            functions.file[function] if function >= 0 else "",
            line,
        )
        text, short = named(at, sources, len(places[number]) - 1)
        text, short = f"asyncio: {text}", f"asyncio {short}"
        made = Lock(text, short, KINDS[key[0]], key[2] or None, key[1], text, classes.name(at))
        locks.append(made)
    return codes, distinguished(recording, locks)


# ---- who is responsible


@dataclass(frozen=True)
class TaskPieces:
    """Parts of suspensions, each with the row that says who ended it."""

    table: TaskWaitTable
    wait: Ints
    """Row of `task_waits`."""
    ns: Ints
    resumption: Ints

    def __len__(self) -> int:
        return len(self.wait)

    @property
    def total_ns(self) -> int:
        return int(self.ns.sum())

    @property
    def unknown_ns(self) -> int:
        return int(self.ns[self.resumption == NONE].sum())

    @property
    def recording(self) -> Recording:
        return self.table.recording

    @property
    def signals(self) -> Flags:
        flags: Flags = self.table.signalling[self.wait]
        return flags

    @property
    def after_notification(self) -> Flags:
        flags: Flags = self.table.reacquires[self.wait]
        return flags

    @cached_property
    def waiter(self) -> Ints:
        """Row of the task that waited."""
        waits = self.recording.task_waits
        process = self.recording.threads.process[waits.thread]
        return rows_of_tasks(self.recording, keys(process, waits.task))[self.wait]

    @cached_property
    def owner(self) -> Ints:
        """Row of the task that released it, or sent what was waited for."""
        rows = self.recording.task_resumptions
        found = rows_of_tasks(
            self.recording, keys(self.recording.threads.process[rows.thread], rows.waker)
        )
        return np.append(found, NONE)[self.resumption]


def task_pieces(recording: Recording, selection: Selection) -> TaskPieces:
    """Of the selected loops' threads and tasks, in the selected time.

    A wait for a lock or a semaphore is cut at each release meanwhile, and each part is attributed
    to who released it then; any other is attributed to who ended it.
    """
    table, waits = task_wait_table(recording), recording.task_waits
    keep = (table.kind != NONE) & in_range(waits.time, selection)
    keep &= threads_of(recording, selection)[waits.thread]
    if selection.task is not None:
        keep &= of_task(recording, waits.thread, waits.task, selection.task)
    owned = ~table.signalling
    chosen = np.flatnonzero(keep & ~owned)
    columns = [
        [chosen],
        [table.end[chosen] - table.start[chosen]],
        [table.resumption[chosen]],
    ]
    whole = owned & (table.kind != NONE)
    for lock in np.unique(table.lock[keep & owned]).tolist():
        releases = np.flatnonzero(whole & (table.lock == lock) & (table.resumption != NONE))
        releases = releases[np.argsort(table.end[releases], kind="stable")]
        rows = np.flatnonzero(keep & owned & (table.lock == lock))
        for column, part in zip(columns, _cut(table, rows, releases), strict=True):
            column.append(part)
    wait, ns, resumption = (np.concatenate(column) for column in columns)
    return TaskPieces(table, wait, ns, resumption)


def _cut(table: TaskWaitTable, rows: Ints, releases: Ints) -> tuple[Ints, Ints, Ints]:
    moments = table.end[releases]
    first = np.searchsorted(moments, table.start[rows], side="right")
    last = np.searchsorted(moments, table.end[rows], side="right")
    found: list[tuple[int, int, int]] = []
    for row, begin, stop in zip(rows.tolist(), first.tolist(), last.tolist(), strict=True):
        since, end = int(table.start[row]), int(table.end[row])
        for release in releases[begin:stop].tolist():
            until = int(table.end[release])
            if until > since:
                found.append((row, until - since, int(table.resumption[release])))
                since = until
        if end > since:
            found.append((row, end - since, int(table.resumption[row])))
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
