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
# The same for one that has to be frugal.
FRUGAL = 0.25
# After a long sleep what was drained is written at once.
FLUSH_NS = 60_000_000
SAMPLES_ASLEEP = 100
CALLS_ASLEEP = 300
# A quarter-full ring after one sleep is the sign to sleep less.
BUSY = 0.25


class Pace:
    def __init__(self, config: dict[str, Any], *, frugal: bool) -> None:
        self._most = FRUGAL if frugal else LONGEST
        # Waking up is most of what a recorder costs beside a quiet target.
        self.flush_ns = int(FRUGAL * 1e9) if frugal else FLUSH_NS
        if "calls" in config["what"]:
            calls = config["calls"]
            self._most = min(self._most, CALLS_ASLEEP / (calls["samples"] * calls["ticks"]))
        self.captures(config["what"], config["rate"])

    def captures(self, what: Iterable[str], rate: int) -> None:
        """This is captured from now on, and so often."""
        self._hears_events = any(map(is_event, what))
        self.set_rate(rate)

    def set_rate(self, rate: int) -> None:
        self._longest = max(SHORTEST, min(self._most, SAMPLES_ASLEEP / rate))
        if self._hears_events:
            self._longest = SHORTEST  # nobody knows how many will come, and they come in bursts
        self.sleep = self._longest
        """In seconds."""

    def drained(self, fullest: float) -> None:
        """So full was the fullest ring after the last sleep."""
        if fullest > BUSY:
            self.sleep = max(self.sleep / 2, SHORTEST)
        elif fullest < BUSY / 4:
            self.sleep = min(self.sleep * 1.5, self._longest)
