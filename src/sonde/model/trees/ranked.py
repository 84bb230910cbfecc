"""The largest of many numbers that only grow, kept in order while they do."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

LENGTH = 64


class Ranked:
    """A list of places in `values`, largest value first.

    Whoever makes a value larger says so; nothing is sorted when somebody asks. Only what grew can
    be out of order, and it moves past the few that it has overtaken.
    """

    def __init__(self, values: array[int], length: int = LENGTH) -> None:
        self._values = values
        self._length = length
        self._order: list[int] = []
        self.floor = 0
        """What a value must exceed to be in the list, or to move in it."""

    def grew(self, place: int) -> None:
        values, order = self._values, self._order
        value = values[place]
        if value <= self.floor:
            return
        if place in order:
            at = order.index(place)
        elif len(order) < self._length:
            at = len(order)
            order.append(place)
        else:
            at = len(order) - 1
            order[at] = place
        if at and values[order[at - 1]] < value:
            to = bisect_right(order, -value, 0, at, key=lambda other: -values[other])
            order.insert(to, order.pop(at))
        if len(order) == self._length:
            self.floor = values[order[-1]]

    def first(self, many: int) -> list[int]:
        """The `many` largest; those beyond the list's own length are looked for."""
        if many <= self._length:
            return self._order[:many]
        values = self._values
        rest = (place for place in range(len(values)) if values[place])
        return sorted(rest, key=lambda place: -values[place])[:many]

    def start_over(self, places: Iterable[int] = ()) -> None:
        """What was where has changed."""
        self._order.clear()
        self.floor = 0
        for place in places:
            self.grew(place)
