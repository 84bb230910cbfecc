"""Which waits were for the same lock, what kind of lock it was, and what it is called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.model.locks.contention import UNKNOWN, Contentions, Flags, Ints
from sonde.model.locks.java_locks import is_lock_of_condition, kind_of_class
from sonde.model.locks.lock_kinds import KINDS, LockKinds
from sonde.model.trees.context_tree import sums
from sonde.recording.tables import Recording
from sonde.row_values import ACQUIRED, GIL, MONITOR
from sonde.views.locks.lock_classes import LockClasses
from sonde.views.locks.lock_names import LockSite, named
from sonde.views.selecting.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER = {kind: i for i, kind in enumerate(KINDS)}
UNKNOWN_KIND = len(KINDS)


@dataclass(frozen=True)
class Lock:
    """A lock as people know it."""

    name: str
    """In full, and no other lock's: the source that takes it, and where."""
    short: str
    """As a sentence calls it: `self._lock (cache.py:41)`."""
    kind: str
    address: int | None
    """None: many short-lived ones that one place of the program waits for."""
    process: int
    shared: str = ""
    """As `name`, but what its like in other processes is called, too."""
    lock_class: str = ""
    """Java: its class; Python: the class and attribute that hold it, or where it is acquired."""


class _Key(NamedTuple):
    """What makes a lock the same one.

    Its address, as long as it is the same kind of lock: memory is used again. What a thread sleeps
    on for a signal is made for that one sleep, so there the place is what counts.
    """

    kind: int
    process: int
    row: int
    """Of the table of locks; UNKNOWN where the place counts."""
    function: int = UNKNOWN
    line: int = 0


def locks_of_conditions(recording: Recording) -> list[bool]:
    """By row of the table of locks: whether notified threads wait for it where they slept."""
    return list(map(is_lock_of_condition, recording.locks.made_of, _types(recording)))


def _types(recording: Recording) -> list[str]:
    return recording.locks.type or [""] * len(recording.locks)


def kinds_of(
    recording: Recording, found: Contentions, kinds: LockKinds
) -> tuple[Ints, Flags, Flags]:
    """What each wait was for, whether it was for a signal, and if it follows a notification."""
    table = np.full(len(recording.contexts) + 1, UNKNOWN_KIND, dtype=np.int64)
    signals = np.zeros(len(recording.contexts) + 1, dtype=bool)
    contexts = np.unique(found.context).tolist()
    for context in contexts:
        site = kinds.site(context)
        table[context] = NUMBER.get(site.kind, UNKNOWN_KIND)
        signals[context] = site.signalling
    gil, monitor = _made_of(recording, found, GIL), _made_of(recording, found, MONITOR)
    kind = np.where(gil, NUMBER["gil"], table[found.context])
    kind = np.where(monitor, NUMBER["monitor"], kind)
    awaits = np.array(kinds.awaits(contexts), dtype=bool)[found.context]
    of_condition = np.array([*locks_of_conditions(recording), False], dtype=bool)[found.lock]
    again = np.array(kinds.reacquires(contexts), dtype=bool)[found.context] | awaits & of_condition
    again &= ~gil
    kind = _reacquired(recording, found, kind, again)
    signalling = signals[found.context] & ~gil & ~monitor & ~again

    # Up to 3.13 `with lock` shows no C function; which lock it was shows where it was released.
    released = np.full(len(recording.contexts) + 1, UNKNOWN_KIND, dtype=np.int64)
    for context in np.unique(found.tail_context[kind == UNKNOWN_KIND]).tolist():
        if kinds.site(context).kind in ("lock", "rlock"):
            released[context] = NUMBER[kinds.site(context).kind]
    kind = np.where(kind == UNKNOWN_KIND, released[found.tail_context], kind)
    _as_the_neighbours(found, kind)
    kind[kind == UNKNOWN_KIND] = NUMBER["lock"]
    return kind, signalling, again & _notified_before(found, gil, again, awaits & ~again)


def _reacquired(recording: Recording, found: Contentions, kind: Ints, again: Flags) -> Ints:
    """What a Java lock is where the stack shows its condition only."""
    kinds = [NUMBER[kind_of_class(type_)] if type_ else UNKNOWN_KIND for type_ in _types(recording)]
    named = np.array([*kinds, UNKNOWN_KIND], dtype=np.int64)[found.lock]
    return np.where(again & (kind == NUMBER["condition"]) & (named != UNKNOWN_KIND), named, kind)


def _notified_before(found: Contentions, gil: Flags, again: Flags, awaits: Flags) -> Flags:
    """Whether the last wait of the same thread, that for the GIL and for a lock acquired again left
    out, was for a notification, and that came."""
    order = np.lexsort((found.end, found.start, found.thread))
    place = np.arange(len(order))
    counts = ~gil[order] & ~again[order]
    before = np.maximum.accumulate(np.where(counts, place, -1))
    thread = found.thread[order]
    came = (awaits & (found.outcome == ACQUIRED))[order]
    result = np.zeros(len(order), dtype=bool)
    result[order] = (before >= 0) & (thread[before] == thread) & came[before]
    return result


def _made_of(recording: Recording, found: Contentions, what: str) -> Flags:
    """Which waits were for locks that are made of `what`."""
    table = np.array([made_of == what for made_of in recording.locks.made_of], dtype=bool)
    return table[found.lock] if len(found) else np.zeros(0, dtype=bool)


def _as_the_neighbours(found: Contentions, kind: Ints) -> None:
    """What still is not known is what the same lock was before, or else after."""
    if not (kind == UNKNOWN_KIND).any():
        return
    order = np.lexsort((found.start, found.lock))
    locks, kinds = found.lock[order], kind[order]
    place = np.arange(len(order))
    known = kinds != UNKNOWN_KIND
    before = np.maximum.accumulate(np.where(known, place, -1))
    after = np.minimum.accumulate(np.where(known, place, len(order))[::-1])[::-1]
    for near in (np.maximum(before, 0), np.minimum(after, len(order) - 1)):
        fits = (kinds == UNKNOWN_KIND) & (locks[near] == locks)
        kinds = np.where(fits, kinds[near], kinds)
    kind[order] = kinds


def locks_of(
    recording: Recording, found: Contentions, kinds: LockKinds, kind: Ints
) -> tuple[Ints, list[Lock]]:
    """One number for everything that is one lock to a person, and the locks by that number."""
    if not len(found):
        return np.zeros(0, dtype=np.int64), []
    # All waits of one context for one row of the table are alike, so each pair is looked at once.
    rows = len(recording.locks)
    pair = ((found.context + 1) * rows + found.lock) * (UNKNOWN_KIND + 1) + kind
    pairs, sample, inverse = np.unique(pair, return_index=True, return_inverse=True)
    spent = sums(inverse, found.length, len(pairs)).tolist()
    numbers: dict[_Key, int] = {}
    places: list[Counter[tuple[int, int]]] = []
    codes = np.empty(len(pairs), dtype=np.int64)
    for i, at in enumerate(sample.tolist()):
        context, row, what = int(found.context[at]), int(found.lock[at]), int(kind[at])
        place = _place(recording, kinds.site(context).context)
        process = int(recording.locks.process[row])
        # Of a thread one waits for the end of, the name says more than that it is a thread.
        lasting = what != NUMBER["join"] and _is_object(recording, context, row)
        if not found.whole[at] or lasting:
            key = _Key(what, process, row)
        else:
            key = _Key(what, process, UNKNOWN, *place)
        code = codes[i] = numbers.setdefault(key, len(numbers))
        if code == len(places):
            places.append(Counter())
        places[code][place] += spent[i]
    started = recording.target.get("started")
    sources = Sources(float(started) if isinstance(started, int | float) else None)
    classes = LockClasses(sources, recording.functions.file)
    locks = [
        _named(recording, found, sources, classes, key, places[n]) for key, n in numbers.items()
    ]
    return codes[inverse], distinguished(recording, locks)


def _place(recording: Recording, context: int) -> tuple[int, int]:
    if context < 0:
        return UNKNOWN, 0
    return int(recording.contexts.function[context]), int(recording.contexts.line[context])


def _is_object(recording: Recording, context: int, row: int) -> bool:
    """Its threads sleep on the thing itself, not on something made for one sleep."""
    if recording.locks.type and recording.locks.type[row]:
        return True
    function = int(recording.contexts.function[context])
    return recording.functions.name[function].startswith("_queue.SimpleQueue.")


def _named(
    recording: Recording,
    found: Contentions,
    sources: Sources,
    classes: LockClasses,
    key: _Key,
    places: Counter[tuple[int, int]],
) -> Lock:
    kind = KINDS[key.kind]
    address = int(recording.locks.address[key.row]) if key.row != UNKNOWN else None
    if kind == "gil":
        text = short = lock_class = _gil(recording, found, key)
    else:
        ((function, line), _), *_ = places.most_common(1)
        functions = recording.functions
        known = function != UNKNOWN
        place = LockSite(
            functions.name[function] if known else "unknown place",
            functions.file[function] if known else "",
            line,
        )
        text, short = named(place, sources, len(places) - 1)
        if kind == "import":
            # What is imported is a statement; it names no lock.
            short = f"the import lock ({place.short})"
        type_ = recording.locks.type[key.row] if recording.locks.type and address else ""
        if type_:
            text, short = f"{type_}: {text}", f"{_simple(type_)} ({place.short})"
        lock_class = type_ or classes.name(place)
    return Lock(text, short, kind, address, key.process, text, lock_class)


def _simple(type_: str) -> str:
    """A class without its package."""
    return type_.rpartition(".")[2]


def _gil(recording: Recording, found: Contentions, key: _Key) -> str:
    """The one of a process, or that of the interpreter whose threads waited most for it."""
    made_of, process = recording.locks.made_of, recording.locks.process
    if sum(m == GIL and p == key.process for m, p in zip(made_of, process, strict=True)) == 1:
        return "GIL"
    mine = found.lock == key.row
    waited = sums(recording.threads.interpreter[found.thread[mine]], found.length[mine], 1)
    number = int(np.argmax(waited))
    return f"GIL of interpreter {number}" if number else "GIL"


def distinguished(recording: Recording, locks: list[Lock]) -> list[Lock]:
    """Names that several locks would share get what distinguishes them."""
    details: tuple[Callable[[Lock], str], ...] = (
        lambda lock: f"pid {recording.processes[lock.process].pid}",
        lambda lock: f"0x{lock.address:x}" if lock.address is not None else "",
        lambda lock: lock.kind,
    )
    for detail in details:
        locks_by_name: dict[str, set[str]] = {}
        for lock in locks:
            locks_by_name.setdefault(lock.name, set()).add(detail(lock))
        locks = [
            replace(lock, name=f"{lock.name} ({detail(lock)})")
            if len(locks_by_name[lock.name]) > 1 and detail(lock)
            else lock
            for lock in locks
        ]
    where: dict[str, set[int]] = {}
    for lock in locks:
        where.setdefault(lock.short, set()).add(lock.process)
    locks = [
        replace(lock, short=f"{lock.short} of process {recording.processes[lock.process].pid}")
        if len(where[lock.short]) > 1 and lock.kind != "gil"
        else lock
        for lock in locks
    ]
    seen: Counter[str] = Counter()
    for i, lock in enumerate(locks):
        seen[lock.name] += 1
        if seen[lock.name] > 1:
            locks[i] = replace(lock, name=f"{lock.name} #{seen[lock.name]}")
    return locks
