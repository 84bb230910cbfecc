"""What a session says about itself: the counts of all its targets, those that are over included."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...shm import layout as shm
from ...shm.atomic_costs import atomic_costs
from ...system import cpu_times
from .samplers import SAMPLERS

if TYPE_CHECKING:
    from ...decode.target import TargetProcess
    from ...tables.active_sampler import ActiveSampler


MAX_RATES = 100
"""Changes of the rate that are reported, the last ones."""


class QualityCounts:
    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._rates: list[tuple[int, int]] = []
        """When it was changed in this segment, and to what."""
        self._asked = self._asked_until = 0
        """CPU time weighed by the rates before this one, and that time itself."""
        self._steal = cpu_times.together().steal_ns
        self._over: dict[str, int] = {}
        self._mode = 0
        self._samplers: set[str] = set()
        self.why_not_better: str | None = None
        self.not_entered: dict[str, str] = {}
        """Processes that belong to the session and are not in the recording, and why."""
        self.short_processes = 0
        """Forked children that were over before the recorder looked at them, without a sample."""
        self.why_no_calls = ""
        self.why_no_objects = ""
        self.why_no_flow = self.why_no_tasks = ""
        self.why_no_lock_activity = ""
        self.samples_locks = False
        """Acquisitions of Python's locks: what they would cost without a GIL is measured then."""
        # All counts are of the session; a segment shows what came since the last one was written.
        self._counted: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._before: dict[str, int] = {}

    def armed(self, armed: ActiveSampler) -> None:
        """One more target is sampled; the session is called by the worst of their samplers."""
        self._samplers.add(armed.sampler)
        self.why_not_better = armed.why_not_better or self.why_not_better

    def rate_changes(self, rate: int, at_ns: int, targets: Iterable[TargetProcess]) -> None:
        cpu = self._over.get("cpu_sampled_ns", 0) + sum(target.cpu.sampled for target in targets)
        self._asked += self._rate * (cpu - self._asked_until)
        self._asked_until = cpu
        if not self._rates:
            self._rates.append((0, self._rate))
        self._rates.append((at_ns, rate))
        del self._rates[1:-MAX_RATES]
        self._rate = rate

    def add(self, target: TargetProcess) -> None:
        """Keeps the counts of a target whose memory is about to go."""
        self._mode = _count(self._over, self._mode, target)
        self.why_no_calls = target.agent.why_no_calls() or self.why_no_calls
        self.why_no_objects = target.agent.why_no_objects() or self.why_no_objects
        self.why_no_flow = target.agent.why_no_flow() or self.why_no_flow
        self.why_no_tasks = target.agent.why_no_tasks() or self.why_no_tasks
        agent = target.agent
        self.why_no_lock_activity = agent.why_no_lock_activity() or self.why_no_lock_activity

    @cached_property
    def _lock_costs(self) -> dict[str, float | None]:
        return atomic_costs()

    def facts(
        self,
        targets: Iterable[TargetProcess],
        more: dict[str, int] | None = None,
        *,
        whole: bool = False,
    ) -> dict[str, Any]:
        """Of the segment being written, or the whole session; `more` are further counts of it."""
        total, mode, why_no_calls = dict(self._over), self._mode, self.why_no_calls
        why_no_objects, why_no_flow = self.why_no_objects, self.why_no_flow
        why_no_tasks = self.why_no_tasks
        why_no_locks = self.why_no_lock_activity
        for target in targets:
            mode = _count(total, mode, target)
            why_no_calls = target.agent.why_no_calls() or why_no_calls
            why_no_objects = target.agent.why_no_objects() or why_no_objects
            why_no_flow = target.agent.why_no_flow() or why_no_flow
            why_no_tasks = target.agent.why_no_tasks() or why_no_tasks
            why_no_locks = target.agent.why_no_lock_activity() or why_no_locks
        usage = resource.getrusage(resource.RUSAGE_SELF)
        total["recorder_cpu_ns"] = int((usage.ru_utime + usage.ru_stime) * 1e9)
        if self.short_processes:
            total["short_processes"] = self.short_processes
        total["steal_ns"] = cpu_times.together().steal_ns - self._steal
        sampled = total.get("cpu_sampled_ns", 0)
        total["asked"] = self._asked + self._rate * (sampled - self._asked_until)
        total |= more or {}
        if not whole:
            self._counted = dict(total)
            for key, before in self._before.items():
                total[key] = total.get(key, 0) - before
        running, cpu = total.pop("running", 0), total.pop("cpu_sampled_ns", 0)
        asked = total.pop("asked")
        achieved = round(running / cpu * 1e9, 1) if cpu else None
        # What was taken and could not be written is as lost as what found its ring full.
        unwritten = total.get("unwritten_samples", 0)
        if unwritten:
            total["taken"] = max(total.get("taken", 0) - unwritten, 0)
            running = max(running - unwritten, 0)
            total["lost"] = total.get("lost", 0) + unwritten
        if events := unwritten + total.get("unwritten_lock_events", 0):
            total["events_lost"] = total.get("events_lost", 0) + events
        samplers = set(self._samplers)
        if mode == shm.SAMPLER_CROSS_CORE and "reader" in samplers:
            samplers = samplers - {"reader"} | {"cross-core"}
        best_first = sorted(samplers, key=SAMPLERS.index) or [SAMPLERS[0]]
        return {
            "sampler": best_first[-1],
            # Each runtime has its own where perf events are refused.
            **({"samplers": best_first} if len(best_first) > 1 else {}),
            "why_not_better": self.why_not_better,
            # If it was changed: the mean, by CPU time.
            "rate_asked": round(asked / cpu) if cpu > 0 else self._rate,
            **({"rates": [list(change) for change in self._rates]} if self._rates else {}),
            "rate_achieved": achieved,
            "running_samples": running,
            "clock": "CLOCK_MONOTONIC",
            "not_entered": self.not_entered,
            **({"why_no_calls": why_no_calls} if why_no_calls else {}),
            **({"why_no_objects": why_no_objects} if why_no_objects else {}),
            **({"why_no_flow": why_no_flow} if why_no_flow else {}),
            **({"why_no_tasks": why_no_tasks} if why_no_tasks else {}),
            **({"why_no_lock_activity": why_no_locks} if why_no_locks else {}),
            **({"lock_costs": self._lock_costs} if self.samples_locks else {}),
            **total,
        }

    def written(self) -> None:
        """What was last reported stands in a file."""
        self._written = self._counted

    def begin_part(self, unwritten: int) -> None:
        """`unwritten`: samples of the session that no file holds."""
        self._before = dict(self._written)
        if "taken" in self._counted:
            # Of a segment that ended before its first count the reader counts the samples in it.
            self._before.setdefault("taken", self._counted["taken"] - unwritten)
        self._rates.clear()


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
    return max(mode, target.agent.reader_mode()) if target.runtime == "cpython" else mode
