"""Contentions: one thread's wait for one lock each, and the owner that each part is attributed to.

What a wait is made of is kept once per lock, not once per waiter: a lock's releases cut time into
holds, and a wait covers a run of them. A hundred threads that queue for one lock would else make a
hundred rows of every release. The rows are made when somebody wants to read them, in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sonde.row_values import ACQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNKNOWN = -1
"""In place of a thread: it could not be known. In place of a context: there is none."""

OPEN, CUT = 0, 1
"""How a wait ended, if not by an event, ACQUIRED or GAVE_UP: not before the recording's end; or its
end was lost, and it counts up to the last moment it surely lasted."""

BLOCK = 1 << 20
"""Contentions attributed at a time."""


@dataclass(frozen=True)
class Holds:
    """Releases of locks that somebody waited for, in the order of each lock's own numbers."""

    lock: Ints
    since: Ints
    """From when on somebody waited for this very release."""
    until: Ints
    thread: Ints
    context: Ints
    gap: Flags
    """An event since the release before was lost: there may have been another owner in between."""

    def __len__(self) -> int:
        return len(self.lock)


@dataclass(frozen=True)
class Contentions:
    """Waits in the order they were found; a row's number is the contention's."""

    holds: Holds
    thread: Ints
    context: Ints
    lock: Ints
    start: Ints
    end: Ints
    outcome: Ints
    before: Flags
    """It began before the recording did, so its beginning is the recording's."""
    wait: Ints
    """The contention that began this wait: itself, unless a thread that was woken up found the lock
    taken again and lay down again."""
    first: Ints
    """The first of the holds it waited through, and how many they are."""
    held: Ints
    clean: Flags
    """The gap of the first hold lies before this wait began."""
    whole: Flags
    """The whole wait is attributed to the owner of the tail: who gave the signal waited for."""
    tail_thread: Ints
    tail_context: Ints

    def __len__(self) -> int:
        return len(self.thread)

    @property
    def length(self) -> Ints:
        return self.end - self.start

    @property
    def open(self) -> Flags:
        return np.equal(self.outcome, OPEN)

    def within(self, start_ns: int | None, end_ns: int | None) -> Contentions:
        """The same waits, each as far as it lies in a range of time; what is outside has no length.

        Rows keep their numbers.
        """
        if start_ns is None and end_ns is None:
            return self
        low = np.int64(start_ns) if start_ns is not None else np.iinfo(np.int64).min
        high = np.int64(end_ns) if end_ns is not None else np.iinfo(np.int64).max
        start = np.clip(self.start, low, high)
        return replace(self, start=start, end=np.maximum(np.clip(self.end, low, high), start))

    def without(self, start_ns: int, end_ns: int) -> Contentions:
        """The same waits without the part that lies in a pause; one around it becomes two parts.

        Rows keep their numbers; second parts follow after the last.
        """
        begins, ends = self.start < start_ns, self.end > end_ns
        touched = (self.start < end_ns) & (self.end > start_ns)
        around = np.flatnonzero(touched & begins & ends)
        start = np.where(touched & ~begins, np.minimum(end_ns, self.end), self.start)
        end = np.where(touched & (begins | ~ends), np.maximum(start_ns, start), self.end)
        outcome = self.outcome.copy()
        outcome[around] = CUT
        first = replace(self, start=start, end=end, outcome=outcome)
        if not len(around):
            return first
        columns = {
            column.name: np.concatenate(
                [getattr(first, column.name), getattr(self, column.name)[around]]
            )
            for column in fields(self)
            if column.name != "holds"
        }
        columns["start"][len(self) :] = end_ns
        return Contentions(holds=self.holds, **columns)


@dataclass(frozen=True)
class Blames:
    """Parts of contentions, each with the owner then; those of one contention are its length."""

    contention: Ints
    thread: Ints
    """The owner, or UNKNOWN."""
    context: Ints
    start: Ints
    ns: Ints
    handed: Flags
    """After the last release: the owner has released it, but the waiter has not run yet."""

    def __len__(self) -> int:
        return len(self.contention)

    def chosen(self, keep: Flags) -> Blames:
        return Blames(
            self.contention[keep],
            self.thread[keep],
            self.context[keep],
            self.start[keep],
            self.ns[keep],
            self.handed[keep],
        )


def blames(found: Contentions, rows: Ints | None = None, *, block: int = BLOCK) -> Iterator[Blames]:
    """The owners that contentions are attributed to, a block at a time; no wait is in two blocks.

    Rows come by wait, so that the parts of one are together.
    """
    if rows is None:
        rows = np.arange(len(found))
    rows = rows[np.argsort(found.wait[rows], kind="stable")]
    sizes = np.where(found.whole[rows], 1, found.held[rows] + 1)
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(rows):
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + block, "right")), begin + 1)
        while stop < len(rows) and found.wait[rows[stop]] == found.wait[rows[stop - 1]]:
            stop += 1
        yield _blames(found, rows[begin:stop], sizes[begin:stop])
        begin = stop


def _blames(found: Contentions, rows: Ints, sizes: Ints) -> Blames:
    """Cut each wait at the releases during it."""
    contention = np.repeat(rows, sizes)
    place = np.arange(len(contention)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    cut = blames_at(found, contention, place)
    # A wait without length is a wait all the same.
    tail = place == np.repeat(sizes, sizes) - 1
    keep = (cut.ns > 0) | (tail & (found.end[contention] == found.start[contention]))
    return cut.chosen(keep)


def blames_at(found: Contentions, contention: Ints, place: Ints) -> Blames:
    """Single parts of waits: the one up to the release at this place, or after the last of them.

    Parts may be without length: a release at the same moment, or outside of the range looked at.
    """
    holds = found.holds
    tail = place == np.where(found.whole[contention], 0, found.held[contention])
    start, end = found.start[contention], found.end[contention]

    hold = np.where(tail, 0, found.first[contention] + place)
    since = start
    if len(holds):
        before = np.where(place == 0, 0, found.first[contention] + place - 1)
        since = np.where(place == 0, start, np.clip(holds.until[before], start, end))
        until = np.where(tail, end, np.clip(holds.until[hold], start, end))
        owner = np.where(tail, found.tail_thread[contention], holds.thread[hold])
        context = np.where(tail, found.tail_context[contention], holds.context[hold])
        unsure = ~tail & holds.gap[hold] & ~((place == 0) & found.clean[contention])
    else:
        until = end
        owner, context = found.tail_thread[contention], found.tail_context[contention]
        unsure = np.zeros(len(contention), dtype=bool)
    # Nobody gets what he holds himself: where releases say so, they are not to be trusted. One who
    # never gets it may have been found to hold it.
    found_out = tail & (found.outcome[contention] != ACQUIRED)
    unsure |= (owner == found.thread[contention]) & ~found_out
    owner = np.where(unsure, UNKNOWN, owner)
    context = np.where(owner == UNKNOWN, UNKNOWN, context)

    handed = tail & (found.outcome[contention] == ACQUIRED) & ~found.whole[contention]
    return Blames(contention, owner, context, since, until - since, handed)
