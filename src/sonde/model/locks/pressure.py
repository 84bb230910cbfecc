"""How much waiting falls into a stretch of time, over everybody who waits for the same."""

from __future__ import annotations

import numpy as np

from sonde.model.locks.contention import Ints


class Pressure:
    """Waits, each from `start` to `end` for what `key` numbers, as a sum that grows with time."""

    def __init__(self, key: Ints, start: Ints, end: Ints) -> None:
        self.keys, index = np.unique(key, return_inverse=True)
        # One line of time for all, each key's own stretch after the one before.
        self.span = int(end.max(initial=0)) + 2
        times = np.concatenate([index * self.span + start, index * self.span + end])
        step = np.repeat(np.array([1, -1]), len(start))
        order = np.argsort(times, kind="stable")
        self.times = times[order]
        self.waiting = np.cumsum(step[order])
        self.spent = np.zeros(len(times), dtype=np.int64)
        self.spent[1:] = np.cumsum(self.waiting[:-1] * np.diff(self.times))
        idle = self.waiting == 0
        begins = ~idle & np.append(True, idle[:-1])[: len(idle)]
        ends = idle & np.append(False, ~idle[:-1])[: len(idle)]
        lasting = self.times[begins] < self.times[ends]
        self.busy_start = self.times[begins][lasting]
        """Stretches of the line of time in which at least one waits; they do not touch."""
        self.busy_end = self.times[ends][lasting]

    def between(self, key: Ints, start: Ints, end: Ints) -> Ints:
        """Nanoseconds waited for each key from `start` to `end`; nothing for a key unheard of."""
        if not len(self.keys):
            return np.zeros(len(key), dtype=np.int64)
        index = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        spent = self._until(index, end) - self._until(index, np.minimum(start, end))
        return np.where(self.keys[index] == key, spent, 0)

    def busy(self, key: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
        """The pieces of each stretch in which somebody waits: of which one, and from when to when.

        They come in the order of the stretches, and within one in the order of time.
        """
        none = np.zeros(0, dtype=np.int64)
        if not len(self.keys):
            return none, none, none
        index = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        base = index * self.span
        begin = base + np.clip(start, 0, self.span - 1)
        stop = base + np.clip(end, 0, self.span - 1)
        low = np.searchsorted(self.busy_end, begin, "right")
        high = np.searchsorted(self.busy_start, stop, "left")
        high = np.where(self.keys[index] == key, np.maximum(high, low), low)
        of, piece = ranges(low, high)
        return (
            of,
            np.maximum(self.busy_start[piece], begin[of]) - base[of],
            np.minimum(self.busy_end[piece], stop[of]) - base[of],
        )

    def _until(self, index: Ints, time: Ints) -> Ints:
        at = index * self.span + np.clip(time, 0, self.span - 1)
        place = np.searchsorted(self.times, at, "right") - 1
        inside = np.maximum(place, 0)
        reached = self.spent[inside] + self.waiting[inside] * (at - self.times[inside])
        return np.where(place < 0, 0, reached)


def ranges(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Every number of every range, and which range it is of."""
    sizes = high - low
    of = np.repeat(np.arange(len(low)), sizes)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[of]
