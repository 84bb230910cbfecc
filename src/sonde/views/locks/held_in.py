"""What a lock's holder did while others waited: estimated from its CPU samples and its waits.

The holds of one row of `locks` are a group. Within a group, off-CPU time is exact. The rest is
divided in proportion to the CPU samples that fall into it. If the waits of a lock's holder were not
recorded, part of the rest may be off-CPU time: then samples count with their own weight, and what
they leave is unknown. Whoever holds the GIL runs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.model.locks.contention import UNKNOWN
from sonde.model.locks.holder_activity import MIN_SAMPLES
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.trees.context_tree import sums
from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sonde.model.locks.contention import Blames, Contentions, Flags, Ints
    from sonde.views.locks.contentions import Contended

HELD_IN = "held_in"
"""Aspects that begin with this are estimated."""

RELEASED = -2
"""In place of a context: the lock was free, the waiter had yet to wake up."""
RELEASED_FUNCTION = Function("[released]", "", 0, "")
MIN_BLOCK = 1 << 13
"""Contentions looked at together; each may match many samples, ..."""
MAX_BLOCKS = 32
"""... but each block goes over all rows once."""

# What the time of a piece is: known; known to be off-CPU; of a CPU sample; or the time that the
# samples divide. The last two come in pairs, with off-CPU time known and with it unknown.
KNOWN, OFF_CPU, SAMPLED, SAMPLED_OPEN, REST, REST_OPEN = range(6)
CLASSES = 6


def block_size(found: Contentions) -> int:
    return max(MIN_BLOCK, len(found) // MAX_BLOCKS)


class HeldPieces(NamedTuple):
    """Parts of a block of contentions, split by what the holder did."""

    part: Ints
    """Row of the block."""
    context: Ints
    ns: Ints
    time_class: Ints
    sample: Ints
    """The CPU sample it is from, UNKNOWN if from none."""

    def chosen(self, keep: Flags) -> HeldPieces:
        return HeldPieces(*(column[keep] for column in self))


def split(everything: Contended, found: Contentions, block: Blames) -> HeldPieces:
    """Split a block of contentions by what the holder did meanwhile."""
    activity = everything.activity
    kind = everything.kind[block.contention]
    held = (block.thread != UNKNOWN) & ~block.handed & (block.ns > 0)
    # Nobody holds a lock while another thread waits for its notification.
    held &= ~everything.signalling[block.contention]
    rows = np.flatnonzero(held)
    thread = block.thread[rows]
    start, end = block.start[rows], block.start[rows] + block.ns[rows]
    waits = activity.waits(thread, start, end)
    samples = activity.samples(thread, start, end)
    is_open = ~activity.off_cpu_known[thread] & (kind[rows] != KINDS.index("gil"))
    rest = block.ns[rows] - sums(waits.interval, waits.ns, len(rows))
    # Who is off CPU when another thread releases the lock acquires it only afterwards.
    after_release = start > found.start[block.contention[rows]]
    not_yet = waits.at_start & after_release[waits.interval]

    others = np.flatnonzero(~held)
    context = np.where(block.handed[others], RELEASED, UNKNOWN)
    return HeldPieces(
        np.concatenate([others, rows[waits.interval], rows[samples.interval], rows]),
        np.concatenate(
            [
                context,
                np.where(not_yet, RELEASED, waits.context),
                samples.context,
                np.full(len(rows), UNKNOWN),
            ]
        ),
        np.concatenate([block.ns[others], waits.ns, samples.ns, rest]),
        np.concatenate(
            [
                np.full(len(others), KNOWN),
                np.where(not_yet, KNOWN, OFF_CPU),
                SAMPLED + is_open[samples.interval],
                REST + is_open,
            ]
        ),
        np.concatenate(
            [
                np.full(len(others) + len(waits.ns), UNKNOWN),
                samples.source,
                np.full(len(rows), UNKNOWN),
            ]
        ),
    )


class HeldInEstimates:
    """Sums pieces by row, then turns the sums into times that add up to the group's."""

    def __init__(self, everything: Contended, found: Contentions) -> None:
        self._everything = everything
        self._found = found
        self._groups: Ints = np.zeros((CLASSES, 0), dtype=np.int64)
        self._group_samples = DistinctSamples(everything)
        self._rows: dict[int, Ints] = {}
        self._row_samples: dict[int, DistinctSamples] = {}
        self._group_of: dict[int, Ints] = {}
        self.times: dict[int, list[int]] = {}
        """By level: the time of each row in nanoseconds ..."""
        self.samples: dict[int, list[int]] = {}
        """... and the CPU samples in it."""

    @property
    def sample_count(self) -> int:
        return self._group_samples.total

    def split(self, block: Blames) -> HeldPieces:
        return split(self._everything, self._found, block)

    def add_groups(self, group: Ints, pieces: HeldPieces) -> None:
        self._groups = _added(self._groups, group, pieces.time_class, pieces.ns)
        self._group_samples.add(group * CLASSES + pieces.time_class, pieces.sample)

    def counts(self, group: Ints, pieces: HeldPieces) -> Flags:
        """Which pieces have any time; all groups are complete."""
        counted: Flags = np.not_equal(self._factors[pieces.time_class, group], 0)
        return counted

    def add(self, level: int, row: Ints, group: Ints, pieces: HeldPieces) -> None:
        empty = np.zeros((CLASSES, 0), dtype=np.int64)
        known = self._rows.get(level, empty)
        self._rows[level] = grown = _added(known, row, pieces.time_class, pieces.ns)
        size = grown.shape[1]
        samples = self._row_samples.setdefault(level, DistinctSamples(self._everything))
        samples.add(row, pieces.sample)
        of = self._group_of.get(level, np.zeros(0, dtype=np.int64))
        of = np.pad(of, (0, size - len(of)))
        of[row] = group
        self._group_of[level] = of

    def finish(self, exact: Ints, numbers: Sequence[Mapping[tuple[int, int], int]]) -> None:
        """`exact` is the time of each group, `numbers` what rows of each level hang below."""
        factors = self._factors
        above = exact
        for level in sorted(self._rows):
            value = (self._rows[level] * factors[:, self._group_of[level]]).sum(axis=0)
            parent = np.zeros(len(value), dtype=np.int64)
            pairs = numbers[level]
            parent[list(pairs.values())] = [row for row, _ in pairs]
            above = add_up(value, parent, above)
            self.times[level] = above.tolist()
            self.samples[level] = self._row_samples[level].counts(len(value)).tolist()

    @cached_property
    def _factors(self) -> NDArray[np.float64]:
        """By class and group: what a nanosecond of the class counts."""
        factors = np.zeros(self._groups.shape)
        factors[[KNOWN, OFF_CPU]] = 1.0
        size = self._groups.shape[1]
        counts = self._group_samples.counts(size * CLASSES).reshape(size, CLASSES).T
        for sampled, rest in ((SAMPLED, REST), (SAMPLED_OPEN, REST_OPEN)):
            weight, time = self._groups[sampled], self._groups[rest]
            enough = (counts[sampled] >= MIN_SAMPLES) & (weight > 0) & (time > 0)
            scale = np.where(enough, time / np.maximum(weight, 1), 0.0)
            if rest == REST_OPEN:
                scale = np.minimum(scale, 1.0)
            factors[sampled] = scale
            factors[rest] = 1.0 - scale * weight / np.maximum(time, 1)
        factors[np.abs(factors) < 1e-12] = 0.0
        return factors


class DistinctSamples:
    """CPU samples by row, each once however many threads waited then."""

    def __init__(self, everything: Contended) -> None:
        self._span = everything.activity.sample_count + 1
        self._known: Ints = np.zeros(0, dtype=np.int64)
        self._new: list[Ints] = []

    def add(self, row: Ints, sample: Ints) -> None:
        from_sample = sample != UNKNOWN
        self._new.append(np.unique(row[from_sample] * self._span + sample[from_sample]))
        # Sorted again only when they have doubled, so that all of it takes n log n.
        if sum(map(len, self._new)) > len(self._known):
            self._codes()

    def _codes(self) -> Ints:
        if self._new:
            self._known = np.unique(np.concatenate([self._known, *self._new]))
            self._new.clear()
        return self._known

    @property
    def total(self) -> int:
        return len(np.unique(self._codes() % self._span))

    def counts(self, size: int) -> Ints:
        return np.bincount(self._codes() // self._span, minlength=size)


def _added(known: Ints, row: Ints, time_class: Ints, ns: Ints) -> Ints:
    size = max(known.shape[1], int(row.max(initial=-1)) + 1)
    added = sums(time_class * size + row, ns, CLASSES * size).reshape(CLASSES, size)
    return np.pad(known, ((0, 0), (0, size - known.shape[1]))) + added


def add_up(value: NDArray[np.float64], parent: Ints, above: Ints) -> Ints:
    """Whole numbers in proportion to `value`, those of one parent adding up to its number."""
    order = np.argsort(parent, kind="stable")
    families = parent[order]
    totals = np.bincount(families, weights=value[order], minlength=len(above))
    ratio = np.divide(above, totals, out=np.zeros(len(above)), where=totals > 0)
    share = value[order] * ratio[families]
    # Rounding the running sum instead of each number loses nothing.
    running = np.cumsum(share)
    first = np.flatnonzero(np.diff(families, prepend=-1))
    sizes = np.diff(np.append(first, len(families)))
    rounded = np.rint(running - np.repeat(running[first] - share[first], sizes)).astype(np.int64)
    steps = np.diff(rounded, prepend=0)
    steps[first] = rounded[first]
    whole = np.empty(len(value), dtype=np.int64)
    whole[order] = steps
    return whole
