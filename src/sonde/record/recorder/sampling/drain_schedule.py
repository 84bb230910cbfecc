"""How long a recorder sleeps between two drains.

Short enough that no ring fills up, else as long as it may be: each time it wakes up it takes the
processor from somebody. Where there are few processors and none is idle it sleeps at least as long
as it works, except in a burst, as when a program imports its modules: what it cannot drain then is
lost and counted, and the target goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ...system.procfs import runnable
from ..options.kernel_events import is_event

# At high rates a ring fills within one long sleep where a thousand frames change from sample to
# sample.
MIN_PAUSE_S, MAX_PAUSE_S = 0.005, 0.06
# Where few samples are all that comes: waking up is most of what a recorder costs beside a quiet
# target. At most 200 ms may be missing if it is killed.
RARE, MAX_PAUSE_IF_RARE_S = 500, 0.1
# The same for one that has to be frugal.
FRUGAL = 0.25
SAMPLES_ASLEEP = 100
CALLS_ASLEEP = 300
# A quarter-full ring after one sleep is the sign to sleep less.
BUSY = 0.25
# With no more processors than this, a recorder that works without a break takes from the target.
FEW_CPUS = 2
MAX_REST_S = 1.0
# But it may work so much more than it has slept.
MAX_BURST_S = 1.0


class DrainSchedule:
    def __init__(self, config: dict[str, Any], *, frugal: bool, cpus: int | None = None) -> None:
        self._cpus = len(os.sched_getaffinity(0)) if cpus is None else cpus
        self._burst = MAX_BURST_S
        self._frugal = frugal
        self._calls = config["calls"]
        self.set_capture(config["what"], config["rate"])

    def set_capture(self, what: Iterable[str], rate: int) -> None:
        """This is captured from now on, and so often."""
        self._what = set(what)
        self.set_rate(rate)

    def set_rate(self, rate: int) -> None:
        is_rare = rate <= RARE and self._what <= {"cpu", "threads", "calls"}
        most = FRUGAL if self._frugal else MAX_PAUSE_IF_RARE_S if is_rare else MAX_PAUSE_S
        self.flush_ns = int(most * 1e9)
        """After a long sleep what was drained is written at once."""
        if "calls" in self._what:
            most = min(most, CALLS_ASLEEP / (self._calls["samples"] * self._calls["ticks"]))
        self._longest = max(MIN_PAUSE_S, min(most, SAMPLES_ASLEEP / rate))
        if any(map(is_event, self._what)):
            self._longest = MIN_PAUSE_S  # nobody knows how many will come, and they come in bursts
        self._wanted = self.sleep = self._longest
        """In seconds."""
        self.rest = 0.0
        """The part of it that nothing but a message cuts short."""

    def drained(self, fullest: float, worked: float = 0.0) -> None:
        """So full was the fullest ring after the last sleep; it took so long to drain them all."""
        if fullest > BUSY:
            self._wanted = max(self._wanted / 2, MIN_PAUSE_S)
        elif fullest < BUSY / 4:
            self._wanted = min(self._wanted * 1.5, self._longest)
        self._burst = min(self._burst + self.sleep - worked, MAX_BURST_S)
        self.rest = min(worked, MAX_REST_S) if self._must_rest(worked) else 0.0
        self.sleep = max(self._wanted, self.rest)

    def _must_rest(self, worked: float) -> bool:
        if self._cpus > FEW_CPUS or self._burst > 0:
            return False
        # A rest shorter than the sleep changes nothing: no need to look.
        return worked <= self._wanted or runnable() > self._cpus
