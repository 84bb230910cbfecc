"""How fast the machine is just now: a fixed piece of computation, timed.

The speed of a host's core changes by up to nine tenths for seconds at a time, with what its other
guests do, and no counter of the machine itself tells of it. A round that began and ended fast was
mostly fast throughout, and its slices can be compared; one that was slow, or became so, is trusted
less. Runs on the measured interpreter, so that readings compare within one process only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

# About a third of a millisecond in all: nothing beside a round.
LOOPS = 700
TRIES = 3


def reading() -> int:
    """Nanoseconds of CPU time it took; the best of a few, as an interrupt may hit one."""
    return min(_once() for _ in range(TRIES))


def _once() -> int:
    began = time.thread_time_ns()
    x = 1
    for _ in range(LOOPS):
        x = (x * 25 + 7) % 997
    return time.thread_time_ns() - began


class Pace:
    """Of round after round: the slower of the readings before and after each."""

    def __init__(self) -> None:
        reading()  # the interpreter gets to know it
        self._before = reading()

    def of_round(self) -> int:
        """To be called at the end of each; the next one begins here."""
        before, self._before = self._before, reading()
        return max(before, self._before)


def fastest(rounds: Sequence[int], paces: Sequence[int], fewest: int) -> list[int]:
    """The faster half of these rounds, but not fewer than asked for, in their order."""
    count = max((len(rounds) + 1) // 2, fewest)
    return sorted(sorted(rounds, key=lambda turn: paces[turn])[:count])
