"""What a session says about itself: the counts of all its targets, those that are over included."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import shm
from .arming import SAMPLERS

if TYPE_CHECKING:
    from .arming import Armed
    from .target import TargetProcess


MOST_RATES = 100
"""Changes of the rate that are told, the last ones."""


class Tally:
    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._rates: list[tuple[int, int]] = []
        """When it was changed, and to what."""
        self._asked = 0.0
        self._asked_until = 0
        """Samples that the rates before this one asked for, and the CPU time they were for."""
        self._steal = _steal_ns()
        self._over: dict[str, int] = {}
        self._mode = 0
        self._worst = 0
        self.why_not_better: str | None = None
        self.not_entered: dict[str, str] = {}
        """Processes that belong to the session and are not in the recording, and why."""
        self.without_objects = False
        """Objects were asked for of a runtime whose agent does not see them."""

    def armed(self, armed: Armed) -> None:
        """One more target is sampled; the session is called by the worst of their samplers."""
        self._worst = max(self._worst, SAMPLERS.index(armed.sampler))
        self.why_not_better = armed.why_not_better or self.why_not_better

    def rate_changes(self, rate: int, at_ns: int, targets: Iterable[TargetProcess]) -> None:
        cpu = self._over.get("cpu_sampled_ns", 0) + sum(target.cpu_sampled for target in targets)
        self._asked += self._rate * (cpu - self._asked_until)
        self._asked_until = cpu
        if not self._rates:
            self._rates.append((0, self._rate))
        self._rates.append((at_ns, rate))
        del self._rates[1:-MOST_RATES]
        self._rate = rate

    def _rate_asked(self, cpu: int) -> int:
        """Over the whole session, if it was changed: the mean, by CPU time."""
        if not self._asked_until or not cpu:
            return self._rate
        return round((self._asked + self._rate * (cpu - self._asked_until)) / cpu)

    def add(self, target: TargetProcess) -> None:
        """Keeps the counts of a target whose memory is about to go."""
        self._mode = _count(self._over, self._mode, target)

    def facts(self, targets: Iterable[TargetProcess]) -> dict[str, Any]:
        total, mode = dict(self._over), self._mode
        for target in targets:
            mode = _count(total, mode, target)
        running, cpu = total.pop("running", 0), total.pop("cpu_sampled_ns", 0)
        sampler = SAMPLERS[self._worst]
        if mode == shm.SAMPLER_CROSS_CORE and sampler == "reader":
            sampler = "cross-core"
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "sampler": sampler,
            "why_not_better": self.why_not_better,
            "rate_asked": self._rate_asked(cpu),
            **({"rates": [list(change) for change in self._rates]} if self._rates else {}),
            "rate_achieved": round(running / cpu * 1e9, 1) if cpu else None,
            "running_samples": running,
            "clock": "CLOCK_MONOTONIC",
            "recorder_cpu_ns": int((usage.ru_utime + usage.ru_stime) * 1e9),
            "steal_ns": _steal_ns() - self._steal,
            "not_entered": self.not_entered,
            **({"without_objects": 1} if self.without_objects else {}),
            **total,
        }


def target_facts(config: dict[str, Any]) -> dict[str, Any]:
    """What is known of a session when it begins."""
    uname = os.uname()
    return {
        "program": config["program"],
        "argv": config["argv"],
        "pid": config["pid"],
        "host": uname.nodename,
        "kernel": f"{uname.sysname} {uname.release} {uname.machine}",
        "cpus": os.cpu_count(),
        "sonde": config["sonde"],
        "runtime": "cpython",
        "what": config["what"],
        "rate": config["rate"],
        "started": time.time(),
    }


def _count(total: dict[str, int], mode: int, target: TargetProcess) -> int:
    """Adds up, but for how far down a reader had to go: there the worst counts."""
    for key, value in target.counts().items():
        total[key] = total.get(key, 0) + value
    return max(mode, target.reader_mode())


def _steal_ns() -> int:
    try:
        with open("/proc/stat", "rb") as f:
            return int(f.readline().split()[8]) * 10_000_000
    except (OSError, IndexError, ValueError):
        return 0
