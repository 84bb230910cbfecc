"""What the owners waited for themselves while others waited for them.

A lock's owner that waits for another lock passes the attribution on: to whoever holds
that one, and so on to the root, who really was busy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.model.locks.contention import Contentions, Flags, Ints, blames_at
from sonde.model.locks.pressure import Pressure, ranges
from sonde.model.trees.context_tree import sums

MAX_DEPTH = 6
BLOCK = 1 << 15
"""Holds followed at a time."""


@dataclass(frozen=True)
class WaitChain:
    """Waiting that came through a chain of owners."""

    links: list[tuple[int, int]]
    """The lock waited for and where its owner held it, then the lock that owner waited for and
    where it was held, ... A holder is a label, -1 where it is not known."""
    ns: int
    """Time waited for the first lock while the last owner of the chain waited for nobody."""


@dataclass(frozen=True)
class _Spans:
    """Stretches of time in which `thread` kept others waiting for lock `row`, as `path` says."""

    path: Ints
    row: Ints
    thread: Ints
    start: Ints
    end: Ints

    def chosen(self, keep: Flags | slice) -> _Spans:
        return _Spans(
            self.path[keep], self.row[keep], self.thread[keep], self.start[keep], self.end[keep]
        )


def wait_chains(found: Contentions, lock: Ints, label: Ints, begin: Flags) -> list[WaitChain]:
    """The chains of two links or more behind the contentions of `begin`, longest waiting first.

    `lock` says for each contention which lock it was for, `label` for each context what to call it
    (and last, for none).
    """
    if not begin.any() or not len(found.holds):
        return []
    pressure = Pressure(found.lock[begin], found.start[begin], found.end[begin])
    nested, paths = _Nested(found), _Paths()
    spans = _holds(found, lock, label, begin, paths)
    for at in range(0, len(spans.row), BLOCK):
        _follow(spans.chosen(slice(at, at + BLOCK)), lock, label, pressure, nested, paths)
    return paths.chains()


def _follow(
    spans: _Spans, lock: Ints, label: Ints, pressure: Pressure, nested: _Nested, paths: _Paths
) -> None:
    """Charge spans to the end of the chains they lead to."""
    for _ in range(MAX_DEPTH):
        weight = pressure.between(spans.row, spans.start, spans.end)
        spans = spans.chosen(weight > 0)
        weight = weight[weight > 0]
        of_span, contention, owner, context, start, end, follow = nested.within(spans, pressure)
        passed_on = pressure.between(spans.row[of_span], start, end)
        paths.add(spans.path, np.maximum(weight - sums(of_span, passed_on, len(weight)), 0))
        # Most of what owners did while nobody waited for them leads nowhere: not one step more.
        felt = np.flatnonzero(passed_on)
        of_span, follow, passed_on = of_span[felt], follow[felt], passed_on[felt]
        path = paths.longer(spans.path[of_span], lock[contention[felt]], label[context[felt]])
        paths.add(path[~follow], passed_on[~follow])
        spans = _Spans(path, spans.row[of_span], owner[felt], start[felt], end[felt])
        spans = spans.chosen(follow)
    paths.add(spans.path, pressure.between(spans.row, spans.start, spans.end))


class _Paths:
    """Chains met so far, by number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, int, int], int] = {}
        self.ns = np.zeros(0, dtype=np.int64)

    def longer(self, path: Ints, lock: Ints, label: Ints) -> Ints:
        if not len(path):
            return np.zeros(0, dtype=np.int64)
        order = np.lexsort((label, lock, path))
        links = np.stack([path, lock, label])[:, order]
        first = np.ones(len(path), dtype=bool)
        first[1:] = (links[:, 1:] != links[:, :-1]).any(axis=0)
        numbers = [
            self.numbers.setdefault((above, of, at), len(self.numbers))
            for above, of, at in links[:, first].T.tolist()
        ]
        self.ns = np.pad(self.ns, (0, len(self.numbers) - len(self.ns)))
        found = np.empty(len(path), dtype=np.int64)
        found[order] = np.array(numbers, dtype=np.int64)[np.cumsum(first) - 1]
        return found

    def add(self, path: Ints, ns: Ints) -> None:
        self.ns += sums(path, ns, len(self.ns))

    def chains(self) -> list[WaitChain]:
        links = {number: (above, of, at) for (above, of, at), number in self.numbers.items()}
        found = []
        for number, ns in enumerate(self.ns.tolist()):
            chain = []
            above = number
            while above >= 0:
                above, of, at = links[above]
                chain.append((of, at))
            if ns and len(chain) > 1:
                found.append(WaitChain(chain[::-1], ns))
        return sorted(found, key=lambda chain: -chain.ns)


class _Nested:
    """What a thread waited for in a stretch of time, and who held that."""

    def __init__(self, found: Contentions) -> None:
        self.order = np.lexsort((found.start, found.thread))
        # One line of time for all, each thread's own stretch after the one before. A hold may end
        # after all waits of the range looked at.
        self.span = max(int(found.end.max()), int(found.holds.until.max())) + 2
        self.found = found
        self.released = found.holds.lock * self.span + found.holds.until
        of = found.thread[self.order] * self.span
        self.start = of + found.start[self.order]
        # Waits of one thread follow each other; where clocks disagree, as if they did.
        self.end = np.maximum.accumulate(of + found.end[self.order])

    def within(
        self, spans: _Spans, pressure: Pressure
    ) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Flags]:
        """For each overlap: the span, the contention, its owner and context, when, and whether the
        chain goes on there: with an owner that is known and has not released it already.

        Only overlaps in which somebody waits for the span's lock: from one release of a lock to the
        next its owner may have waited for a thousand other locks while nobody waited for this one.
        """
        of_span, contention, hold = self._felt(spans, pressure)
        found = self.found
        begin = np.maximum(found.start[contention], spans.start[of_span])
        end = np.minimum(found.end[contention], spans.end[of_span])
        part = blames_at(found, contention, hold - found.first[contention])
        start = np.maximum(part.start, begin)
        stop = np.minimum(part.start + part.ns, end)
        keep = stop > start
        part = part.chosen(keep)
        return (
            of_span[keep],
            part.contention,
            part.thread,
            part.context,
            start[keep],
            stop[keep],
            (part.thread >= 0) & ~part.handed,
        )

    def _felt(self, spans: _Spans, pressure: Pressure) -> tuple[Ints, Ints, Ints]:
        """Spans, contentions of their owners and holds of these that meet while somebody waits for
        the span's lock; each once."""
        of_span, start, end = pressure.busy(spans.row, spans.start, spans.end)
        base = spans.thread[of_span] * self.span
        low = np.searchsorted(self.end, base + start, "right")
        high = np.maximum(np.searchsorted(self.start, base + end, "left"), low)
        of_piece, place = ranges(low, high)
        contention = self.order[place]
        of_span = of_span[of_piece]
        # The next owner of a lock waits for it until it is handed over: that is no other lock.
        other = self.found.lock[contention] != spans.row[of_span]
        of_span, of_piece, contention = of_span[other], of_piece[other], contention[other]

        # Of a long wait in a queue only the releases within the piece are looked at.
        found = self.found
        begin = np.maximum(found.start[contention], start[of_piece])
        stop = np.minimum(found.end[contention], end[of_piece])
        first = found.first[contention]
        last = first + np.where(found.whole[contention], 0, found.held[contention])
        base = found.lock[contention] * self.span
        low = np.clip(np.searchsorted(self.released, base + begin, "right"), first, last)
        high = np.clip(np.searchsorted(self.released, base + stop, "left"), low, last)
        of_pair, hold = ranges(low, high + 1)
        of_span, contention = of_span[of_pair], contention[of_pair]
        # Two pieces may meet in one hold.
        order = np.lexsort((hold, contention, of_span))
        of_span, contention, hold = of_span[order], contention[order], hold[order]
        new = np.ones(len(hold), dtype=bool)
        new[1:] = (np.diff(of_span) != 0) | (np.diff(contention) != 0) | (np.diff(hold) != 0)
        return of_span[new], contention[new], hold[new]


def _holds(found: Contentions, lock: Ints, label: Ints, begin: Flags, paths: _Paths) -> _Spans:
    """The holds of the locks waited for, each from the release before it."""
    holds = found.holds
    rows = np.unique(found.lock[begin])
    name = np.full(int(found.lock.max()) + 1, -1, dtype=np.int64)
    # Of several locks that had the same memory the one waited for last is as good as any.
    name[found.lock[begin]] = lock[begin]
    wanted = np.isin(holds.lock, rows) & ~holds.gap
    before = np.where(np.diff(holds.lock, prepend=-1) != 0, 0, np.roll(holds.until, 1))
    start, end = before[wanted], holds.until[wanted]
    thread, row = holds.thread[wanted], holds.lock[wanted]
    none = np.full(len(row), -1, dtype=np.int64)
    path = paths.longer(none, name[row], label[holds.context[wanted]])
    return _Spans(path, row, thread, start, end)
