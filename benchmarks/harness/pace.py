"""How fast the machine is just now: a fixed piece of computation, timed.

The speed of a host's core changes by up to nine tenths for seconds at a time, with what its other
guests do, and no counter of the machine itself tells of it. A round that began and ended fast was
mostly fast throughout, and its slices can be compared; one that was slow, or became so, is trusted
less. Runs on the measured interpreter, so that readings compare within one process only; some of
them, even while the host is busy, are at full speed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

# About a third of a millisecond in all: nothing beside a round.
LOOPS = 700
TRIES = 3
FULL = 1.25
"""Up to so many times the best reading is full speed. It lies between two heaps: a core that is
shared is slower by half and more."""


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
        self._before = self._best = reading()
        self._began = time.monotonic()
        self.full_s = 0.0
        """How long the rounds at full speed lasted, as far as could be known at each one's end."""

    def of_round(self) -> int:
        """To be called at the end of each; the next one begins here."""
        before, self._before = self._before, reading()
        slower = max(before, self._before)
        self._best = min(self._best, before, self._before)
        now = time.monotonic()
        if slower <= FULL * self._best:
            self.full_s += now - self._began
        self._began = now
        return slower


def at_full_speed(rounds: Sequence[int], paces: Sequence[int], fewest: int) -> list[int]:
    """Those of these rounds, in their order; if they are too few, the fastest."""
    slowest = FULL * min(paces)
    full = [turn for turn in rounds if paces[turn] <= slowest]
    if len(full) >= fewest:
        return full
    return sorted(sorted(rounds, key=lambda turn: paces[turn])[:fewest])
