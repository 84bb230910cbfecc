"""Which of many numbers are among the largest, without sorting them."""

from __future__ import annotations

from collections.abc import Iterable


class TopKFilter:
    """Lets the `most` largest pass, asked for each in the order they were given in.

    They are counted by their size, in steps of an eighth; of the step that is not kept as a whole
    those that come first are.
    """

    def __init__(self, numbers: Iterable[int], most: int) -> None:
        counts: dict[int, int] = {}
        for number in numbers:
            step = _step(number)
            counts[step] = counts.get(step, 0) + 1
        self._room = most
        self._last = -1
        """The step of which only some are kept, as many as there is room for."""
        for step in sorted(counts, reverse=True):
            if counts[step] > self._room:
                self._last = step
                break
            self._room -= counts[step]

    def passes(self, number: int) -> bool:
        step = _step(number)
        if step == self._last and self._room:
            self._room -= 1
            return True
        return step > self._last


def _step(number: int) -> int:
    bits = number.bit_length()
    return bits << 3 | (number >> max(bits - 4, 0)) & 7
