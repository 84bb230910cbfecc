"""How much waiting falls into a stretch of time, over everybody who waits for the same."""

from __future__ import annotations

import numpy as np

from sonde.model.contention import Ints


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

    def between(self, key: Ints, start: Ints, end: Ints) -> Ints:
        """Nanoseconds waited for each key from `start` to `end`; nothing for a key unheard of."""
        if not len(self.keys):
            return np.zeros(len(key), dtype=np.int64)
        index = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        spent = self._until(index, end) - self._until(index, np.minimum(start, end))
        return np.where(self.keys[index] == key, spent, 0)

    def _until(self, index: Ints, time: Ints) -> Ints:
        at = index * self.span + np.clip(time, 0, self.span - 1)
        place = np.searchsorted(self.times, at, "right") - 1
        inside = np.maximum(place, 0)
        reached = self.spent[inside] + self.waiting[inside] * (at - self.times[inside])
        return np.where(place < 0, 0, reached)
