"""Acquisitions of locks, contended or not: how many, and how long each lock was held.

One of N acquisitions is sampled, at random. A sample counts for as many as its thread made for each
of its samples. Threads with few samples say little about that, and share one figure.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.model.locks.java_locks import kind_of_class
from sonde.model.locks.lock_kinds import LockKinds
from sonde.row_values import (
    ACQUIRED_CONTENDED,
    ACQUIRED_RECURSIVE,
    ACQUIRED_REENTRANT,
    MONITOR,
    PARK,
)
from sonde.views.locks.free_threading import (
    AtomicCosts,
    FreeThreaded,
    atomic_costs,
    free_threaded,
)
from sonde.views.locks.lock_classes import LockClasses
from sonde.views.locks.lock_names import LockSite, named
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.sources import Sources
from sonde.views.selecting.span_filter import within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.recording.tables import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

SURE = 1.96
"""Standard errors of a margin of 95 % confidence."""
FEW = 30
"""A thread with fewer samples has no estimate of its own."""


class Estimate(NamedTuple):
    number: int
    margin: int
    """Of 95 % confidence."""


@dataclass(frozen=True)
class HoldTimes:
    """Of sampled holds that ended; of an acquisition that was recursive there is none."""

    mean: int
    max: int
    margin: int
    """Of the mean."""
    samples: int


@dataclass(frozen=True)
class SpinTimes:
    """Of sampled acquisitions for which a thread had to wait: on CPU, trying again."""

    mean: int
    max: int
    share: float
    """Of the time of these waits."""
    samples: int


@dataclass(frozen=True)
class LockActivity:
    """One lock."""

    address: int | None
    """None: many short-lived ones at one place."""
    process: int
    """Its index."""
    kind: str
    name: str
    lock_class: str
    signalling: bool
    samples: int
    acquisitions: Estimate
    recursive: Estimate
    contended: Estimate
    wait_ns: int
    """Mean of the contended ones that were sampled; 0 if there were none."""
    hold: HoldTimes | None
    spin: SpinTimes | None
    """None: unknown, as of locks that are not spun for."""
    threads: int
    transfers: Estimate
    """Acquisitions by another thread than the one before, if the threads came in random order."""


@dataclass(frozen=True)
class ThreadAcquisitions:
    tid: int
    name: str
    process: int
    acquisitions: int
    """Exact: each thread counts its own."""


@dataclass(frozen=True)
class Activity:
    """By acquisitions, descending."""

    every: int
    samples: int
    acquisitions: int
    """Of all threads, exact; of a part of the recording an estimate."""
    locks: list[LockActivity]
    threads: list[ThreadAcquisitions]
    costs: AtomicCosts | None
    """Of an acquisition on the machine of the recording."""
    duration_ns: int
    """Of what was selected."""

    def without_gil(self, lock: LockActivity) -> FreeThreaded | None:
        """What the lock would cost there; None: no atomic instruction was measured."""
        if self.costs is None:
            return None
        made = lock.acquisitions.number
        holds = made - lock.recursive.number
        held = None if lock.hold is None else holds * lock.hold.mean
        return free_threaded(self.costs, made, lock.transfers.number, held, self.duration_ns)


class _Key(NamedTuple):
    process: int
    kind: str
    address: int | None
    place: tuple[int, int] | None


def lock_activity(recording: Recording, selection: Selection | None = None) -> Activity | None:
    """None if no acquisitions were sampled or counted."""
    selection = selection or Selection()
    samples, counts = recording.lock_samples, recording.lock_counts
    if not len(samples) and not len(counts):
        return None
    keep = np.ones(len(samples), dtype=bool)
    mine = np.ones(len(recording.threads), dtype=bool)
    if selection.thread is not None or selection.process is not None:
        mine = threads_of(recording, selection)
        keep &= mine[samples.thread]
    if selection.span is not None:
        keep &= within(recording, selection.span)[samples.span]
    if selection.start_ns is not None:
        keep &= samples.time >= selection.start_ns
    if selection.end_ns is not None:
        keep &= samples.time < selection.end_ns
    made, weights = _weights(recording)
    rows = np.flatnonzero(keep)
    by_part = any(v is not None for v in (selection.span, selection.start_ns, selection.end_ns))
    total = round(float(weights[rows].sum())) if by_part else int(made[mine].sum())
    return Activity(
        int(samples.every[0]) if len(samples) else 0,
        len(rows),
        total,
        _locks(recording, rows, weights),
        [] if by_part else _threads(recording, made, mine),
        atomic_costs(recording),
        _duration(recording, selection),
    )


def _duration(recording: Recording, selection: Selection) -> int:
    end = duration_ns(recording)
    if selection.end_ns is not None:
        end = min(end, selection.end_ns)
    return max(end - max(selection.start_ns or 0, 0), 1)


def _weights(recording: Recording) -> tuple[Ints, Floats]:
    """By thread: the acquisitions it made. By sample: how many it represents."""
    samples, counts = recording.lock_samples, recording.lock_counts
    size = len(recording.threads)
    made = np.zeros(size, dtype=np.int64)
    np.add.at(made, samples.thread, samples.counted.astype(np.int64))
    np.add.at(made, counts.thread, counts.counted)
    taken = np.bincount(samples.thread, minlength=size)
    few = taken < FEW
    shared = made[few].sum() / max(int(taken[few].sum()), 1)
    weight = np.where(few, shared, made / np.maximum(taken, 1))
    return made, weight[samples.thread]


def _threads(recording: Recording, made: Ints, mine: Any) -> list[ThreadAcquisitions]:
    threads = recording.threads
    rows = [
        ThreadAcquisitions(
            int(threads.tid[i]),
            threads.name[i],
            recording.processes[threads.process[i]].pid,
            int(made[i]),
        )
        for i in np.flatnonzero(mine & (made > 0)).tolist()
    ]
    return sorted(rows, key=lambda row: -row.acquisitions)


def _locks(recording: Recording, rows: Ints, weights: Floats) -> list[LockActivity]:
    samples, contexts, functions = recording.lock_samples, recording.contexts, recording.functions
    kinds = LockKinds(
        contexts.parent, contexts.function, functions.name, functions.file, functions.runtime
    )
    # Samples of one place and lock are alike, so each such pair is looked at once.
    reentrant = (samples.flags[rows] & ACQUIRED_REENTRANT != 0).astype(np.int64)
    context, lock = samples.context[rows].astype(np.int64), samples.lock[rows].astype(np.int64)
    pair = ((context + 1) * (len(recording.locks) + 1) + lock) * 2 + reentrant
    _, first, inverse, often = np.unique(
        pair, return_index=True, return_inverse=True, return_counts=True
    )
    numbers: dict[_Key, int] = {}
    places: list[Counter[tuple[int, int]]] = []
    signals: list[bool] = []
    types: list[str] = []
    code = np.empty(len(first), dtype=np.int64)
    for i, at in enumerate(first.tolist()):
        site = kinds.site(int(context[at]))
        row = int(lock[at])
        process = int(recording.locks.process[row])
        kind = _kind(recording, row, site.kind, bool(reentrant[at]))
        place = (-1, 0)
        if site.context >= 0:
            frame = site.context
            place = int(contexts.function[frame]), int(contexts.line[frame])
        address = int(recording.locks.address[row])
        key = _Key(process, kind, None if site.whole else address, place if site.whole else None)
        code[i] = number = numbers.setdefault(key, len(numbers))
        if number == len(places):
            places.append(Counter())
            types.append(recording.locks.type[row] if recording.locks.type else "")
            signals.append(site.signalling)
        places[number][place] += int(often[i])
    if not numbers:
        return []
    names = _names(recording, list(numbers), places, types)
    found = [
        _lock(recording, key, names[n], signals[n], rows[code[inverse] == n], weights)
        for key, n in numbers.items()
    ]
    return sorted(found, key=lambda row: (-row.acquisitions.number, row.name))


def _lock(
    recording: Recording,
    key: _Key,
    name: tuple[str, str],
    signalling: bool,
    rows: Ints,
    weights: Floats,
) -> LockActivity:
    samples = recording.lock_samples
    flags, weight = samples.flags[rows], weights[rows]
    contended = flags & ACQUIRED_CONTENDED != 0
    waits = samples.wait_ns[rows][contended]
    threads, mine = np.unique(samples.thread[rows], return_inverse=True)
    share = np.bincount(mine, weight) / weight.sum()
    change = 1 - float((share**2).sum())
    every = estimate(weight)
    return LockActivity(
        key.address,
        key.process,
        key.kind,
        *name,
        signalling,
        len(rows),
        every,
        estimate(weight[flags & ACQUIRED_RECURSIVE != 0]),
        estimate(weight[contended]),
        int(waits.mean()) if len(waits) else 0,
        None if signalling else _hold(samples.hold_ns[rows]),
        _spin(samples.spin_ns[rows][contended], waits),
        len(threads),
        Estimate(round(every.number * change), round(every.margin * change)),
    )


def _kind(recording: Recording, row: int, of_site: str, reentrant: bool) -> str:
    """What a lock is: of Java by what it is made of, of Python by what acquires it."""
    made_of = recording.locks.made_of[row]
    if made_of == MONITOR:
        return "monitor"
    if made_of == PARK and recording.locks.type and recording.locks.type[row]:
        return kind_of_class(recording.locks.type[row])
    return of_site or ("rlock" if reentrant else "lock")


def _spin(spin: Ints, wait: Ints) -> SpinTimes | None:
    known = spin >= 0
    spin, wait = spin[known], wait[known]
    if not len(spin):
        return None
    share = float(spin.sum()) / max(int(wait.sum()), 1)
    return SpinTimes(int(spin.mean()), int(spin.max()), min(share, 1.0), len(spin))


def estimate(weight: Floats) -> Estimate:
    """What so many samples represent; each acquisition was sampled with probability 1 / weight."""
    variance = float((weight * np.maximum(weight - 1, 0)).sum())
    return Estimate(round(float(weight.sum())), math.ceil(SURE * math.sqrt(variance)))


def _hold(hold: Ints) -> HoldTimes | None:
    ended = hold[hold >= 0]
    if not len(ended):
        return None
    error = float(ended.std(ddof=1)) / math.sqrt(len(ended)) if len(ended) > 1 else 0.0
    return HoldTimes(int(ended.mean()), int(ended.max()), math.ceil(SURE * error), len(ended))


def _names(
    recording: Recording,
    keys: list[_Key],
    places: list[Counter[tuple[int, int]]],
    types: list[str],
) -> list[tuple[str, str]]:
    """Of each lock its name, which no other one has, and its class."""
    started = recording.target.get("started")
    sources = Sources(float(started) if isinstance(started, int | float) else None)
    classes = LockClasses(sources, recording.functions.file)
    functions = recording.functions
    found = []
    for place, type_ in zip(places, types, strict=True):
        ((function, line), _), *_ = place.most_common(1)
        known = function >= 0
        site = LockSite(
            functions.name[function] if known else "unknown place",
            functions.file[function] if known else "",
            line,
        )
        text, _ = named(site, sources, len(place) - 1)
        found.append((f"{type_}: {text}", type_) if type_ else (text, classes.name(site)))
    bearers = Counter(name for name, _ in found)
    return [
        (
            f"{name} (0x{key.address:x})"
            if bearers[name] > 1 and key.address is not None
            else name,
            class_,
        )
        for key, (name, class_) in zip(keys, found, strict=True)
    ]
