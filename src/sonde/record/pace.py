"""How long a recorder sleeps between two drains.

Short enough that no ring fills up, else as long as it may be: each time it wakes up it takes the
processor from somebody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .kernel_events import is_event

# At high rates a ring fills within one long sleep where a thousand frames change from sample to
# sample.
SHORTEST, LONGEST = 0.005, 0.06
# Where few samples are all that comes: waking up is most of what a recorder costs beside a quiet
# target. At most 200 ms may be missing if it is killed.
RARE, LONGEST_IF_RARE = 500, 0.1
# The same for one that has to be frugal.
FRUGAL = 0.25
SAMPLES_ASLEEP = 100
CALLS_ASLEEP = 300
# A quarter-full ring after one sleep is the sign to sleep less.
BUSY = 0.25


class Pace:
    def __init__(self, config: dict[str, Any], *, frugal: bool) -> None:
        self._frugal = frugal
        self._calls = config["calls"]
        self.captures(config["what"], config["rate"])

    def captures(self, what: Iterable[str], rate: int) -> None:
        """This is captured from now on, and so often."""
        self._what = set(what)
        self.set_rate(rate)

    def set_rate(self, rate: int) -> None:
        is_rare = rate <= RARE and self._what <= {"cpu", "threads", "calls"}
        most = FRUGAL if self._frugal else LONGEST_IF_RARE if is_rare else LONGEST
        self.flush_ns = int(most * 1e9)
        """After a long sleep what was drained is written at once."""
        if "calls" in self._what:
            most = min(most, CALLS_ASLEEP / (self._calls["samples"] * self._calls["ticks"]))
        self._longest = max(SHORTEST, min(most, SAMPLES_ASLEEP / rate))
        if any(map(is_event, self._what)):
            self._longest = SHORTEST  # nobody knows how many will come, and they come in bursts
        self.sleep = self._longest
        """In seconds."""

    def drained(self, fullest: float) -> None:
        """So full was the fullest ring after the last sleep."""
        if fullest > BUSY:
            self.sleep = max(self.sleep / 2, SHORTEST)
        elif fullest < BUSY / 4:
            self.sleep = min(self.sleep * 1.5, self._longest)
