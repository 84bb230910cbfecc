"""Which locks are contended, how much, and how long are they held? In the spirit of JLM."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.locks.contention import UNKNOWN, Contentions, Ints
from sonde.model.locks.pressure import Pressure
from sonde.model.trees.context_tree import sums
from sonde.views.locks.contentions import Contended, contended
from sonde.views.locks.free_threading import FreeThreaded
from sonde.views.locks.lock_activity import Activity, LockActivity, lock_activity
from sonde.views.locks.lock_activity_json import activity_json, summary_json
from sonde.views.locks.locks import LocksRow, locks
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.locks.lock_identity import Lock

SECOND = 1_000_000_000
SMALL = 0.05
"""Of the waiting for what other threads held: a single lock below this is one of many."""
MAX_WINDOWS = 1 << 22
"""Windows looked at for the worst one, over all locks; if there are more, they are longer."""


@dataclass(frozen=True)
class LockRow:
    """One lock; times in nanoseconds, None is what cannot be known."""

    lock: str
    kind: str
    signalling: bool
    address: int | None
    process: int
    waits: int
    wait_ns: int
    mean_ns: int
    max_ns: int
    holds: int
    """Releases that somebody waited for."""
    hold_ns: int | None
    """How long it was held on average while somebody waited; None for what is a signal."""
    waiters: int
    owners: int
    """Different threads."""
    owner_function: dict[str, Any] | None
    """The function of the program (not of a library) that most of the waiting is attributed to."""
    owner_ns: int
    unknown_ns: int
    """Waiting that no owner could be named for."""
    pressure: float
    """Waiting per time of the recording: the number of threads that wait on average."""
    peak: float
    """The same in its worst second (or less, if the recording is shorter) ..."""
    peak_at_ns: int
    """... and when that began."""
    activity: LockActivity | None = None
    """Acquisitions of the lock, if they were sampled."""
    without_gil: FreeThreaded | None = None
    """What they would cost on a free-threaded build of CPython."""

    def to_json(self) -> dict[str, Any]:
        row = asdict(self)
        del row["activity"], row["without_gil"]
        row["address"] = None if self.address is None else f"0x{self.address:x}"
        contended = 0 if self.signalling else self.waits
        return row | activity_json(self.activity, self.hold_ns, contended, self.without_gil)


@dataclass(frozen=True)
class LockClassRow:
    """All locks of one class together."""

    lock_class: str
    kind: str
    signalling: bool
    locks: int
    waits: int
    wait_ns: int
    mean_ns: int
    max_ns: int
    owner_function: dict[str, Any] | None
    owner_ns: int


@dataclass(frozen=True)
class LockTable:
    """Locks by waiting time, descending; and the same by class."""

    total_ns: int
    duration_ns: int
    rows: list[LockRow]
    classes: list[LockClassRow]
    activity: Activity | None = None
    """Of all locks; None if acquisitions were not sampled."""

    @property
    def is_spread(self) -> bool:
        """Whether no single lock is contended as much as a class of them."""
        contended = self.total_ns - sum(row.wait_ns for row in self.classes if row.signalling)
        single = max((row.wait_ns for row in self.rows if not row.signalling), default=0)
        large = (row for row in self.classes if row.locks > 1 and not row.signalling)
        whole = max((row.wait_ns for row in large), default=0)
        return single < SMALL * contended <= whole

    def to_json(self) -> dict[str, Any]:
        return {
            "total_ns": self.total_ns,
            "duration_ns": self.duration_ns,
            "rows": [row.to_json() for row in self.rows],
            "classes": [asdict(row) for row in self.classes],
            "activity": None if self.activity is None else summary_json(self.activity),
        }


def lock_table(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> LockTable:
    selection = selection or Selection()
    everything = contended(recording)
    found, rows = everything.rows(selection)
    blamed = locks(recording, selection, by=("lock", "owner_own"), chains=False)
    size = len(everything.locks)
    lock = everything.lock[rows]
    waiters = _distinct(lock, found.thread[rows], size)
    holds, held_ns, owners = _holds(everything, found, rows, selection)
    begin = max(0, selection.start_ns or 0)
    end = duration_ns(recording)
    if selection.end_ns is not None:
        end = min(end, selection.end_ns)
    duration = max(end - begin, 1)
    peaks, peak_at = _peaks(lock, found, rows, begin, duration, size)
    numbers = {known.name: i for i, known in enumerate(everything.locks)}

    active = lock_activity(recording, selection)
    table = []
    for row in blamed.rows if active else blamed.rows[:top]:
        i = numbers[row.value]
        known = everything.locks[i]
        owned = [child for child in row.children if child.value is not None]
        unknown = sum(child.wait_ns for child in row.children if child.value is None)
        table.append(
            LockRow(
                lock=known.name,
                kind=known.kind,
                signalling=row.signalling,
                address=known.address,
                process=recording.processes[known.process].pid,
                waits=row.count,
                wait_ns=row.wait_ns,
                mean_ns=row.wait_ns // row.count if row.count else 0,
                max_ns=row.max_ns,
                holds=int(holds[i]),
                hold_ns=_mean(held_ns[i], holds[i]) if _is_held(known, row) else None,
                waiters=int(waiters[i]),
                owners=int(owners[i]),
                owner_function=owned[0].value if owned else None,
                owner_ns=owned[0].wait_ns if owned else 0,
                unknown_ns=unknown,
                pressure=row.wait_ns / duration,
                peak=float(peaks[i]),
                peak_at_ns=int(peak_at[i]),
            )
        )
    classes = _classes(recording, selection, rows, top)
    if active is not None:
        table = with_activity(recording, table, active)[:top]
    return LockTable(blamed.total_ns, duration, table, classes, active)


def with_activity(recording: Recording, rows: list[LockRow], active: Activity) -> list[LockRow]:
    """Each row with the activity of its lock, and a row for each lock that nobody waited for."""
    left = {_key(recording.processes[lock.process].pid, lock): lock for lock in active.locks}
    found = []
    for row in rows:
        lock = None
        # Up to 3.13 a wait does not show whether the lock is a reentrant one.
        for kind in (row.kind, *(("lock", "rlock") if row.kind in ("lock", "rlock") else ())):
            key = (row.process, kind, row.address, None if row.address is not None else row.lock)
            lock = lock or left.pop(key, None)
        found.append(replace(row, activity=lock))
    found += [_unwaited(process, lock) for (process, _, _, _), lock in left.items()]
    found = [
        replace(row, without_gil=active.without_gil(row.activity)) if row.activity else row
        for row in found
    ]
    return sorted(found, key=lambda row: (-row.wait_ns, -_acquisitions(row)))


def _key(process: int, lock: LockActivity) -> tuple[int, str, int | None, str | None]:
    return process, lock.kind, lock.address, None if lock.address is not None else lock.name


def _unwaited(process: int, lock: LockActivity) -> LockRow:
    """Of a lock that nobody waited for, as far as was recorded."""
    return LockRow(
        lock=lock.name,
        kind=lock.kind,
        signalling=lock.signalling,
        address=lock.address,
        process=process,
        waits=0,
        wait_ns=0,
        mean_ns=0,
        max_ns=0,
        holds=0,
        hold_ns=None,
        waiters=0,
        owners=0,
        owner_function=None,
        owner_ns=0,
        unknown_ns=0,
        pressure=0.0,
        peak=0.0,
        peak_at_ns=0,
        activity=lock,
    )


def _acquisitions(row: LockRow) -> int:
    return row.activity.acquisitions.number if row.activity else 0


def _classes(
    recording: Recording, selection: Selection, rows: Ints, top: int | None
) -> list[LockClassRow]:
    everything = contended(recording)
    names, class_of = everything.lock_classes
    counts = np.bincount(class_of[np.unique(everything.lock[rows])], minlength=len(names))
    number = {name: i for i, name in enumerate(names)}
    kind_of = {lock.lock_class: lock.kind for lock in everything.locks}
    found = locks(recording, selection, by=("lock_class", "owner_own"), chains=False)
    made = []
    for row in found.rows[:top]:
        owned = next((child for child in row.children if child.value is not None), None)
        made.append(
            LockClassRow(
                lock_class=row.value,
                kind=kind_of[row.value],
                signalling=row.signalling,
                locks=int(counts[number[row.value]]),
                waits=row.count,
                wait_ns=row.wait_ns,
                mean_ns=row.wait_ns // row.count if row.count else 0,
                max_ns=row.max_ns,
                owner_function=owned.value if owned else None,
                owner_ns=owned.wait_ns if owned else 0,
            )
        )
    return made


def _is_held(lock: Lock, row: LocksRow) -> bool:
    """Whether it is one lasting thing that somebody has, not made again for each sleep."""
    return lock.address is not None and not row.signalling


def _mean(total: int, count: int) -> int | None:
    return int(total // count) if count else None


def _distinct(lock: Ints, thread: Ints, size: int) -> Ints:
    """How many different threads each lock has to do with."""
    span = int(thread.max(initial=0)) + 1
    return np.bincount(np.unique(lock * span + thread) // span, minlength=size)


def _holds(
    everything: Contended, found: Contentions, rows: Ints, selection: Selection
) -> tuple[Ints, Ints, Ints]:
    """Of each lock: how often it was released with somebody waiting, how long it was held before
    that, and by how many threads."""
    size = len(everything.locks)
    holds = found.holds
    of_hold = np.full(len(holds), UNKNOWN, dtype=np.int64)
    served = rows[(found.held[rows] > 0) & (found.outcome[rows] != 0)]
    # A hold is of the lock that was waited for then: memory may have held several, one by one.
    of_hold[found.first[served] + found.held[served] - 1] = everything.lock[served]
    of_hold = _filled(of_hold, holds.lock)
    keep = (of_hold >= 0) & (holds.until > holds.since) & ~holds.gap
    if selection.start_ns is not None:
        keep &= holds.until > selection.start_ns
    if selection.end_ns is not None:
        keep &= holds.since < selection.end_ns
    count = np.bincount(of_hold[keep], minlength=size)
    spent = sums(of_hold[keep], (holds.until - holds.since)[keep], size)
    tail = rows[found.tail_thread[rows] >= 0]
    lock = np.concatenate([of_hold[keep], everything.lock[tail]])
    thread = np.concatenate([holds.thread[keep], found.tail_thread[tail]])
    return count, spent, _distinct(lock, thread, size)


def _filled(value: Ints, group: Ints) -> Ints:
    """The same with what is missing taken from the next one of the group, or else the last."""
    place = np.arange(len(value))
    known = value != UNKNOWN
    after = np.minimum.accumulate(np.where(known, place, len(value))[::-1])[::-1]
    before = np.maximum.accumulate(np.where(known, place, -1))
    for near in (np.minimum(after, len(value) - 1), np.maximum(before, 0)):
        fits = (value == UNKNOWN) & (group[near] == group)
        value = np.where(fits, value[near], value)
    return value


def _peaks(
    lock: Ints, found: Contentions, rows: Ints, begin: int, duration: int, size: int
) -> tuple[Any, Ints]:
    """The greatest pressure of each lock in any window of a second, and when that window began."""
    count = min(-(-duration // SECOND), max(1, MAX_WINDOWS // max(size, 1)))
    edges = begin + np.arange(count + 1) * duration // count
    pressure = Pressure(lock, found.start[rows], found.end[rows])
    peaks, at = np.zeros(size), np.zeros(size, dtype=np.int64)
    for key in np.unique(lock).tolist():
        spent = pressure.between(np.full(count, key), edges[:-1], edges[1:])
        share = spent / np.diff(edges)
        worst = int(np.argmax(share))
        peaks[key], at[key] = share[worst], edges[worst]
    return peaks, at
