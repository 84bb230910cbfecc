"""Limits overhead to a share of one core by lowering the sampling rate.

What is counted: the agent's own CPU time, as it measures it in handlers and hooks; the recorder's,
as the kernel counts it; and for every sample the interrupt that brought it, which neither sees.
On a virtual machine an interrupt leaves the guest, and 5 to 7 µs were measured (KVM, kernel 6.18).
Its cost on bare metal was not, so there it is not counted, and the recording says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

WINDOW_NS = 2_000_000_000
LOWEST_RATE = 1
VIRTUAL_INTERRUPT_NS = 6_000
# Above the budget the rate falls at once, to what would need this much of it; it rises only after
# this many windows below the lower bound, and never by more than half: a rate that swings costs
# more than one that is a little too low.
AIM = 0.85
LOWER_BOUND = 0.65
MAX_TRIES = 2
STEEPEST = 1.5


class Cost(NamedTuple):
    """Of the session so far."""

    agent_ns: int
    recorder_ns: int
    samples: int


class OverheadBudget:
    """A control loop; whoever has the clock and the counts calls `step`."""

    def __init__(self, share: float, rate: int, now: int, interrupt_ns: int) -> None:
        self.share = share
        self.rate = rate
        self._asked = rate
        self._interrupt_ns = interrupt_ns
        self._lowest = self._highest = rate
        self._changes = 0
        self._began = self._since = now
        self._before = Cost(0, 0, 0)
        self._below = 0
        self._windows = self._over = 0
        self._spent_ns = 0
        self._worst = 0.0
        self._floor_over = 0

    def step(self, now: int, cost: Cost) -> int | None:
        """The rate to sample at from now on, None if it stays."""
        passed = now - self._since
        if passed < WINDOW_NS:
            return None
        spent = self._price(cost) - self._price(self._before)
        self._since, self._before = now, cost
        self._windows += 1
        self._spent_ns += spent
        used = spent / passed
        # The first window holds the recorder's own start.
        if self._windows == 1:
            used = min(used, self.share)
        self._worst = max(self._worst, used)
        return self._judge(used)

    def pass_over(self, now: int, cost: Cost) -> None:
        """Nothing is recorded at the moment: the cost of that says nothing about the rate."""
        self._began += now - self._since
        self._since, self._before = now, cost

    def ask(self, rate: int) -> None:
        """Somebody has set another rate, which is the highest from now on."""
        self._asked = rate
        self._below = 0
        self._change(rate)

    def _price(self, cost: Cost) -> int:
        return cost.agent_ns + cost.recorder_ns + cost.samples * self._interrupt_ns

    def _judge(self, used: float) -> int | None:
        if used > self.share:
            self._over += 1
            self._below = 0
            if self.rate == LOWEST_RATE:
                self._floor_over += 1
            return self._change(self.rate * self.share * AIM / used)
        self._below = self._below + 1 if used < self.share * LOWER_BOUND else 0
        if self._below < MAX_TRIES or self.rate >= self._asked:
            return None
        self._below = 0
        steep = self.share * AIM / used if used else STEEPEST
        return self._change(max(self.rate * min(steep, STEEPEST), self.rate + 1))

    def _change(self, wanted: float) -> int | None:
        rate = max(LOWEST_RATE, min(self._asked, int(wanted)))
        if rate == self.rate:
            return None
        self.rate = rate
        self._changes += 1
        self._lowest, self._highest = min(self._lowest, rate), max(self._highest, rate)
        return rate

    def facts(self) -> dict[str, Any]:
        """What the recording says of it."""
        passed = self._since - self._began
        return {
            "budget": {
                "share": self.share,
                "used": round(self._spent_ns / passed, 5) if passed else None,
                "windows": self._windows,
                "windows_over": self._over,
                "windows_over_at_lowest_rate": self._floor_over,
                "rate_now": self.rate,
                "rate_lowest": self._lowest,
                "rate_highest": self._highest,
                "rate_changes": self._changes,
                "interrupt_ns": self._interrupt_ns or None,
            }
        }


def interrupt_ns() -> int:
    """What the interrupt of one sample costs here, as far as that is known; else 0."""
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("flags"):
                    return VIRTUAL_INTERRUPT_NS if "hypervisor" in line.split() else 0
    except OSError:
        pass
    return 0
