"""Who waited for what, and which owners is it attributed to? By any aspects, in any order."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.locks.contention import BLOCK, UNKNOWN, Blames, Contentions, Flags, Ints, blames
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.locks.wait_chains import wait_chains
from sonde.model.trees.context_tree import sums
from sonde.views.locks.contentions import Contended, contended
from sonde.views.locks.held_in import (
    HELD_IN,
    RELEASED,
    RELEASED_FUNCTION,
    HeldInEstimates,
    block_size,
)
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function

ASPECTS = (
    "kind", "lock", "lock_class", "waiter_thread", "waiter_function", "waiter_chain",
    "owner_thread", "owner_function", "owner_chain", "held_in_function", "held_in_chain",
    "waiter_task", "owner_task",
)  # fmt: skip
DEFAULT = ("kind", "lock", "owner_chain", "waiter_chain")
OWN = ("waiter_own", "owner_own", "held_in_own")
"""Functions of the program itself, where those of a library would say little; for findings."""

MAX_LENGTH = 64
"""Buckets of the histogram: powers of two nanoseconds."""


@dataclass(slots=True)
class LocksRow:
    """The waiting that shares a value of one aspect, below one row of the aspects before it.

    A wait attributed to several owners counts in the row of each, with its time there.
    """

    aspect: str
    value: Any
    """As in JSON: text, a function, a chain, or None where it is not known."""
    wait_ns: int
    signalling_ns: int
    """The part of it that was for a signal (a queue, an event, a join), not for a lock."""
    after_notification_ns: int
    """The part of it that was for the lock of a condition, after that was notified."""
    count: int
    max_ns: int
    histogram: list[tuple[int, int]]
    children: list[LocksRow] = field(default_factory=list)
    samples: int | None = None
    """The CPU samples that an estimated time rests on; None: the time is exact."""

    @property
    def signalling(self) -> bool:
        return self.signalling_ns == self.wait_ns > 0

    @property
    def after_notification(self) -> bool:
        return self.after_notification_ns == self.wait_ns > 0

    def to_json(self) -> dict[str, Any]:
        return {
            "key": {self.aspect: self.value},
            "wait_ns": self.wait_ns,
            "signalling": self.signalling,
            "signalling_ns": self.signalling_ns,
            "after_notification": self.after_notification,
            "after_notification_ns": self.after_notification_ns,
            "count": self.count,
            "max_ns": self.max_ns,
            "histogram": [list(bucket) for bucket in self.histogram],
            "children": [row.to_json() for row in self.children],
            **({} if self.samples is None else {"samples": self.samples}),
        }


@dataclass(frozen=True)
class Chain:
    """Waiting passed on: each link is a lock and the function that held it, waiting for the next.

    The time is that in which the last owner waited for nobody.
    """

    links: list[tuple[str, Function | None]]
    wait_ns: int

    def to_json(self) -> dict[str, Any]:
        return {
            "wait_ns": self.wait_ns,
            "links": [
                {"lock": lock, "owner_function": function.to_json() if function else None}
                for lock, function in self.links
            ],
        }


@dataclass(frozen=True)
class Locks:
    """Rows by waiting time, descending, each split by the next aspect."""

    by: tuple[str, ...]
    total_ns: int
    signalling_ns: int
    after_notification_ns: int
    unknown_ns: int
    """What no owner could be named for."""
    count: int
    undecided: int
    """Waits of unknown length, whose beginning was lost; in no row."""
    rows: list[LocksRow]
    chains: list[Chain]
    """What owners of locks waited for themselves meanwhile."""
    loop_ns: int = 0
    """The part of the total that tasks waited for their event loops."""
    task_ns: int = 0
    """The part that tasks waited for asyncio's locks, queues and events, and for futures."""
    held_samples: int | None = None
    """The CPU samples behind `held_in_*` aspects; None: no such aspect was asked for."""

    def to_json(self) -> dict[str, Any]:
        return {
            "total_ns": self.total_ns,
            "signalling_ns": self.signalling_ns,
            "after_notification_ns": self.after_notification_ns,
            "unknown_ns": self.unknown_ns,
            "loop_ns": self.loop_ns,
            "task_ns": self.task_ns,
            "count": self.count,
            "undecided": self.undecided,
            "by": list(self.by),
            "rows": [row.to_json() for row in self.rows],
            "chains": [chain.to_json() for chain in self.chains],
            "held_samples": self.held_samples,
        }


def aspects(text: str) -> tuple[str, ...]:
    """The aspects of a list such as "lock,owner_chain"."""
    asked = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in asked:
        if part not in ASPECTS:
            raise UsageError(invalid("--by", part, ASPECTS, "values for locks"))
    if not asked or len(set(asked)) < len(asked):
        raise UsageError("--by needs at least one value, and each only once")
    return asked


def locks(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: Sequence[str] = DEFAULT,
    top: int | None = None,
    chains: bool = True,
    notifications: bool = True,
) -> Locks:
    """The waiting of the selected threads in the selected time; `top` rows of each level.

    Without `notifications` only contention: waits for locks that another thread held.
    """
    everything = contended(recording)
    found, rows = everything.rows(selection or Selection())
    if not notifications:
        rows = rows[~everything.signalling[rows]]
    aggregates = _Aggregates(everything, found, tuple(by))
    unknown = 0
    if aggregates.estimates is not None:
        for block in blames(found, rows, block=aggregates.block):
            aggregates.measure(block)
    for block in blames(found, rows, block=aggregates.block):
        aggregates.add(block)
        unknown += int(block.ns[block.thread == UNKNOWN].sum())
    length = found.length[rows]
    return Locks(
        by=tuple(by),
        total_ns=int(length.sum()),
        signalling_ns=int(length[everything.signalling[rows]].sum()),
        after_notification_ns=int(length[everything.after_notification[rows]].sum()),
        unknown_ns=unknown,
        count=aggregates.count,
        undecided=everything.undecided,
        rows=aggregates.rows(top),
        chains=_chains(everything, found, rows)[:top] if chains else [],
        held_samples=aggregates.held_samples,
    )


def _chains(everything: Contended, found: Contentions, rows: Ints) -> list[Chain]:
    """Of waits for locks that others have; who has the GIL runs, and waits for nobody."""
    begin = np.zeros(len(found), dtype=bool)
    begin[rows] = True
    begin &= ~everything.signalling & (everything.kind != KINDS.index("gil"))
    functions = everything.chains.functions
    made = [
        Chain(
            [
                (everything.locks[lock].name, functions[function] if function >= 0 else None)
                for lock, function in chain.links
            ],
            chain.ns,
        )
        for chain in wait_chains(found, everything.lock, everything.own_function, begin)
    ]
    return sorted(made, key=lambda chain: (-chain.wait_ns, json.dumps(chain.to_json())))


class _Aggregates:
    """Sums contentions into a tree of rows, block by block: Hofer's selectors and aggregators."""

    def __init__(self, everything: Contended, found: Contentions, by: tuple[str, ...]) -> None:
        self.everything = everything
        self.found = found
        self.by = by
        self.exact = next((i for i, a in enumerate(by) if a.startswith(HELD_IN)), len(by))
        """Levels before that of the first aspect that samples show."""
        self.estimates = HeldInEstimates(everything, found) if self.exact < len(by) else None
        self.count = self.total = 0
        self.numbers: list[dict[tuple[int, int], int]] = [{} for _ in by]
        """Rows of each level, by the row above and the value."""
        self.sums: list[Ints] = [np.zeros((5, 0), dtype=np.int64) for _ in by]
        """Of each row: time, time for signals, after notifications, count, longest."""
        self.histograms: list[Ints] = [np.zeros((2, 0), dtype=np.int64) for _ in by]
        """Buckets that are not empty, ascending: row and bucket in one number, and the count. Of
        ten thousand locks most rows have one."""

    def add(self, block: Blames) -> None:
        # Rows come by wait, so counting the changes numbers the waits of the block.
        changes = np.diff(self.found.wait[block.contention], prepend=UNKNOWN) != 0
        wait = np.cumsum(changes) - 1
        self.count += int(changes.sum())
        self.total += int(block.ns.sum())
        flags = np.stack(
            [
                self.everything.signalling[block.contention],
                self.everything.after_notification[block.contention],
            ]
        )
        above = np.zeros(len(block), dtype=np.int64)
        for level, aspect in enumerate(self.by[: self.exact]):
            value = self._values(aspect, block)
            above = self._numbered(level, above, value)
            self._add(level, above, wait, block.ns, flags)
        if self.estimates is None:
            return
        pieces = self.estimates.split(block)
        pieces = pieces.chosen(self.estimates.counts(above[pieces.part], pieces))
        of = pieces.part
        group = above = above[of]
        for level, aspect in enumerate(self.by[self.exact :], self.exact):
            if aspect.startswith(HELD_IN):
                value = self._held(aspect, pieces.context)
            else:
                value = self._values(aspect, block)[of]
            above = self._numbered(level, above, value)
            self.estimates.add(level, above, group, pieces)
            # Waits count in every row that they have a piece in, with all of their time.
            pairs, _ = _distinct(above * len(block) + of)
            row, part = pairs // len(block), pairs % len(block)
            self._add(level, row, wait[part], block.ns[part], flags[:, part])

    def measure(self, block: Blames) -> None:
        """Sums the groups whose time samples divide; all of them come before the first `add`."""
        assert self.estimates is not None
        above = np.zeros(len(block), dtype=np.int64)
        for level, aspect in enumerate(self.by[: self.exact]):
            above = self._numbered(level, above, self._values(aspect, block))
        pieces = self.estimates.split(block)
        self.estimates.add_groups(above[pieces.part], pieces)

    @property
    def block(self) -> int:
        return BLOCK if self.estimates is None else block_size(self.found)

    @property
    def held_samples(self) -> int | None:
        return None if self.estimates is None else self.estimates.sample_count

    def _held(self, aspect: str, context: Ints) -> Ints:
        everything = self.everything
        value = {
            "held_in_function": everything.held_function,
            "held_in_own": everything.held_own_function,
        }.get(aspect, everything.chains.node)[context]
        return np.where(context == RELEASED, self._released(aspect), value)

    def _released(self, aspect: str) -> int:
        """The value behind the last one."""
        chains = self.everything.chains
        return len(chains.tree) if aspect == "held_in_chain" else len(chains.functions)

    def _values(self, aspect: str, block: Blames) -> Ints:
        everything, found = self.everything, self.found
        contention = block.contention
        if aspect == "kind":
            return everything.kind[contention]
        if aspect == "lock":
            return everything.lock[contention]
        if aspect == "lock_class":
            return everything.lock_classes[1][everything.lock[contention]]
        if aspect.endswith("_task"):
            tasks = everything.tasks
            return tasks.waiters(contention) if aspect[0] == "w" else tasks.owners(block)
        owner = aspect.startswith("owner")
        context = block.context if owner else found.context[contention]
        if aspect.endswith("_thread"):
            thread = block.thread if owner else found.thread[contention]
            return everything.thread_names[1][thread]
        if aspect.endswith("_function"):
            return everything.function[context]
        if aspect in OWN:
            return everything.own_function[context]
        return everything.chains.node[context]

    def _numbered(self, level: int, above: Ints, value: Ints) -> Ints:
        """The number of each one's row at this level."""
        span = int(value.max(initial=0)) + 2
        pairs, inverse = _distinct(above * span + value + 1)
        known = self.numbers[level]
        numbers = [
            known.setdefault((pair // span, pair % span - 1), len(known)) for pair in pairs.tolist()
        ]
        return np.array(numbers, dtype=np.int64)[inverse]

    def _add(self, level: int, row: Ints, wait: Ints, ns: Ints, flags: Flags) -> None:
        size = len(self.numbers[level])
        grown = size - self.sums[level].shape[1]
        if grown:
            self.sums[level] = np.pad(self.sums[level], ((0, 0), (0, grown)))
        totals, (known, counts) = self.sums[level], self.histograms[level]
        totals[0] += sums(row, ns, size)
        for i, flag in enumerate(flags, 1):
            totals[i] += sums(row[flag], ns[flag], size)
        # No wait is in two blocks, so what one adds up to in a row is complete here.
        span = int(wait.max(initial=0)) + 1
        pairs, inverse = _distinct(row * span + wait)
        length = sums(inverse, ns, len(pairs))
        rows = pairs // span
        totals[3] += np.bincount(rows, minlength=size)
        np.maximum.at(totals[4], rows, length)
        buckets, added = np.unique(rows * MAX_LENGTH + _bucket(length), return_counts=True)
        codes, inverse = np.unique(np.concatenate([known, buckets]), return_inverse=True)
        counts = sums(inverse, np.concatenate([counts, added]), len(codes))
        self.histograms[level] = np.stack([codes, counts])

    def rows(self, top: int | None) -> list[LocksRow]:
        children: list[list[LocksRow]] = []
        estimates = self.estimates
        if estimates is not None:
            exact = self.sums[self.exact - 1][0] if self.exact else np.array([self.total])
            estimates.finish(exact, self.numbers)
        for level in reversed(range(len(self.by))):
            aspect = self.by[level]
            families: dict[int, list[LocksRow]] = {}
            # As lists, all at once: asking NumPy row by row takes longer than everything else.
            sums = self.sums[level].T.tolist()
            codes, counts = self.histograms[level]
            histograms = _row_histograms(codes, counts, len(sums))
            values: dict[int, Any] = {}
            times: list[int] | None = None
            if estimates is not None and level >= self.exact:
                times, samples = estimates.times.get(level, []), estimates.samples.get(level, [])
            for (above, value), number in self.numbers[level].items():
                wait_ns, signals, notified, count, longest = sums[number]
                if times is not None:
                    wait_ns = times[number]
                    if not wait_ns:
                        continue
                if value not in values:
                    values[value] = self._value(aspect, value)
                row = LocksRow(
                    aspect,
                    values[value],
                    wait_ns,
                    signals,
                    notified,
                    count,
                    longest,
                    histograms[number],
                    children[number] if children else [],
                    samples[number] if times is not None else None,
                )
                families.setdefault(above, []).append(row)
            for family in families.values():
                in_order(family)
                if top is not None:
                    del family[top:]
            above_count = len(self.numbers[level - 1]) if level else 1
            children = [families.get(number, []) for number in range(above_count)]
        return children[0] if children else []

    def _value(self, aspect: str, value: int) -> Any:
        everything = self.everything
        if aspect == "kind":
            return KINDS[value]
        if aspect == "lock":
            return everything.locks[value].name
        if aspect == "lock_class":
            return everything.lock_classes[0][value]
        if value < 0:
            return None
        if aspect.startswith(HELD_IN) and value == self._released(aspect):
            function = RELEASED_FUNCTION.to_json()
            return [{**function, "first_line": 0}] if aspect == "held_in_chain" else function
        if aspect.endswith("_thread"):
            return everything.thread_names[0][value]
        if aspect.endswith("_task"):
            return everything.tasks.names[value]
        if aspect.endswith("_function") or aspect in OWN:
            return everything.chains.functions[value].to_json()
        return everything.chains.to_json(value)


def in_order(family: list[LocksRow]) -> None:
    """The longest waiting first; what is as long by what it is, wherever it was read from."""
    alike = Counter(row.wait_ns for row in family)

    def as_text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    family.sort(
        key=lambda row: (-row.wait_ns, as_text(row.value) if alike[row.wait_ns] > 1 else "")
    )


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """The codes that occur, and which of them each one is.

    Where they lie close together a table finds it, many times faster than sorting.
    """
    size = int(codes.max(initial=0)) + 1
    if size > 4 * len(codes) + (1 << 16):
        found, inverse = np.unique(codes, return_inverse=True)
        return found, inverse
    there = np.zeros(size, dtype=bool)
    there[codes] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there), place[codes]


def _row_histograms(codes: Ints, counts: Ints, size: int) -> list[list[tuple[int, int]]]:
    """Of each row the buckets that are not empty: what no wait in it exceeds, and how many."""
    pairs = list(zip((1 << codes % MAX_LENGTH).tolist(), counts.tolist(), strict=True))
    ends = np.cumsum(np.bincount(codes // MAX_LENGTH, minlength=size)).tolist()
    return [pairs[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _bucket(ns: Ints) -> Ints:
    """The power of two that a length does not exceed."""
    return np.frexp(np.maximum(ns - 1, 0).astype(np.float64))[1].astype(np.int64)
