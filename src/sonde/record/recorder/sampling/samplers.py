"""Which sampler a target gets: the best one this machine permits, and why not a better one.

In order: `perf` (each thread samples itself on a perf signal), `perf-user` (the same, but signals
come only while the thread is outside the kernel), `reader` (a thread of the agent moves to the
sampled thread's core), `cross-core` (the same without moving, which may tear), `remote` (the
recorder reads the target's memory from outside). Only when asked for: `safepoint` (threads sample
themselves where the interpreter lets them, which is biased). In a JVM, whose frames no other thread
can read, `cpu-timer` follows `perf-user`: each thread samples itself on the signal of a timer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Container
from dataclasses import dataclass, field

from ...shm import layout as shm
from ...system import perf_events
from ...system.procfs import cpu_of
from ..options import kernel_events
from ..options.kernel_events import KernelEvent

SAMPLERS = ("perf", "perf-user", "cpu-timer", "reader", "cross-core", "safepoint", "remote")
_BY_PERF = 2
"""So many of them, the first ones."""
SAMPLERS_OF = {
    "cpython": tuple(sampler for sampler in SAMPLERS if sampler != "cpu-timer"),
    "hotspot": ("perf", "perf-user", "cpu-timer"),
}
_CODES = {
    "cpu-timer": shm.SAMPLER_CPU_TIMER,
    "cross-core": shm.SAMPLER_CROSS_CORE,
    "safepoint": shm.SAMPLER_SAFEPOINT,
}


@dataclass
class ArmedSampler:
    """What samples one process, until closed."""

    sampler: str
    why_not_better: str | None
    wait_signals: bool
    events: list[int] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    """The number of the kernel event that a descriptor counts."""
    counted: dict[int, int] = field(default_factory=dict)
    """How many there were of each, of all targets, on the descriptors that are closed."""
    why_no_events: str | None = None
    baseline: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Per thread that lived before: the time it was armed and its CPU time then."""

    @property
    def code(self) -> int:
        if self.sampler.startswith("perf"):
            return shm.SAMPLER_PERF
        return _CODES.get(self.sampler, shm.SAMPLER_READER)

    def close(self) -> None:
        while self.events:
            self._close(self.events.pop())

    def close_event(self, which: int) -> None:
        """Only the kernel event with that number."""
        for fd in [fd for fd, number in self.counters.items() if number == which]:
            self.events.remove(fd)
            self._close(fd)

    def _close(self, fd: int) -> None:
        which = self.counters.pop(fd, None)
        if which is not None:
            count = int.from_bytes(os.read(fd, 8), "little")
            self.counted[which] = self.counted.get(which, 0) + count
        os.close(fd)


class SamplerSet:
    """Arms processes; numbers events so that a thread armed twice can be distinguished."""

    def __init__(self, period_ns: int, wanted: str = "auto") -> None:
        self.period = period_ns
        self._cpu, self._waits = True, False
        self._events: dict[int, KernelEvent] = {}
        self.counted: dict[int, int] = {}
        """How many of each kernel event there were, by its number."""
        self._first = 0 if wanted == "auto" else SAMPLERS.index(wanted)
        self._wanted = wanted
        # Round 1 is that of processes which arm themselves (native/core/protocol/self_arm.c).
        self._number, self._round = 0, 1

    def set_capture(
        self, what: Container[str], events: dict[int, KernelEvent] | None = None
    ) -> None:
        """What is opened from now on is for."""
        self._cpu, self._waits = "cpu" in what, "waits" in what
        self._events = events or {}

    def arm(self, pid: int, but: Container[int] = (), runtime: str = "cpython") -> ArmedSampler:
        """All threads of a process; `but` are the agent's own."""
        self._round += 1
        reasons: list[str] = []
        if self._first > 0:
            reasons.append(f"--sampler {self._wanted} was given")
        for sampler in SAMPLERS[self._first : _BY_PERF]:
            if perf_events.kernel_version() < perf_events.SIGTRAP_SAFE_FROM:
                reasons.append("kernels before 5.18 may kill a thread that blocks SIGTRAP")
                break
            armed = ArmedSampler(sampler, None, False, counted=self.counted)
            try:
                self._arm_threads(pid, armed, but)
            except OSError as error:
                armed.close()
                if isinstance(error, (FileNotFoundError, ProcessLookupError)):
                    raise
                reasons.append(perf_events.refusal(error))
                continue
            armed.why_not_better = _joined(reasons)
            return armed
        wanted = SAMPLERS[self._first] if self._first >= _BY_PERF else None
        sampler = wanted or SAMPLERS_OF[runtime][_BY_PERF]
        return self._unsignalled(pid, sampler, _joined(reasons))

    def adopt(
        self, sampler: str, events: list[int], baseline: dict[int, tuple[int, int]]
    ) -> ArmedSampler:
        """A process that opened its events itself, as one that we armed."""
        return ArmedSampler(
            sampler, None, self._waits, events, counted=self.counted, baseline=baseline
        )

    def read_remotely(self, pid: int, why: str) -> ArmedSampler:
        return self._unsignalled(pid, "remote", why)

    def _unsignalled(self, pid: int, sampler: str, why: str | None) -> ArmedSampler:
        armed = ArmedSampler(sampler, why, False)
        if self._events:
            armed.why_no_events = why
        for tid in _threads(pid):
            armed.baseline[tid] = _now_and_cpu(pid, tid)
        return armed

    def _arm_threads(self, pid: int, armed: ArmedSampler, but: Container[int]) -> None:
        # Threads may be started while we go through the list: until a pass finds no new one. Those
        # started by an armed thread are armed by inheritance, maybe twice; the agent ignores one.
        done: set[int] = set()
        while True:
            new = [tid for tid in _threads(pid) if tid not in done and tid not in but]
            if not new:
                return
            for tid in new:
                done.add(tid)
                try:
                    self._arm_thread(tid, armed)
                except ProcessLookupError:
                    continue
                armed.baseline[tid] = _now_and_cpu(pid, tid)

    def _arm_thread(self, tid: int, armed: ArmedSampler) -> None:
        user_only = armed.sampler == "perf-user"
        self._number += 1
        number = self._round << shm.SIG_ROUND_SHIFT | self._number << shm.SIG_NUMBER_SHIFT
        if self._cpu:
            armed.events.append(
                perf_events.open_event(
                    tid,
                    perf_events.TASK_CLOCK,
                    self.period,
                    number | shm.SIG_CPU,
                    exclude_kernel=user_only,
                )
            )
        # Switches happen inside the kernel: an event that excludes it never sees one.
        if self._waits and not user_only:
            armed.events.append(
                perf_events.open_event(
                    tid, perf_events.CONTEXT_SWITCHES, 1, number | shm.SIG_SWITCH
                )
            )
            armed.wait_signals = True
        for which, event in self._events.items():
            data = number | shm.SIG_EVENT | which << shm.SIG_WHICH_SHIFT
            try:
                fd = event.open(tid, data, exclude_kernel=user_only)
            except ProcessLookupError:
                raise
            except OSError as error:
                armed.why_no_events = kernel_events.refusal(event, error)
                continue
            armed.events.append(fd)
            armed.counters[fd] = which


def _joined(reasons: list[str]) -> str | None:
    return "; ".join(dict.fromkeys(reasons)) or None


def _threads(pid: int) -> list[int]:
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def _now_and_cpu(pid: int, tid: int) -> tuple[int, int]:
    return time.monotonic_ns(), cpu_of(pid, tid)
