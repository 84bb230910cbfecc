"""What others took from a process: the hypervisor's steal, and the quota of its control group."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import cpu_times


def throttled_ns(text: str) -> int:
    """From cpu.stat of either version of control groups."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "throttled_usec":
            return int(value) * 1000
        if key == "throttled_time":
            return int(value)
    return 0


def group_file(pid: int) -> str | None:
    """The cpu.stat of the process's own control group, None if it has none."""
    for line in _read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            for root in ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
                file = f"{root}{path.rstrip('/')}/cpu.stat"
                if throttles(_read(file)):
                    return file
    return None


def throttles(text: str) -> bool:
    return "throttled_" in text


def cpu_includes_steal() -> bool | None:
    """Whether this kernel counts stolen time as CPU time of who ran; None if it does not report it.

    Linux takes it out if built with PARAVIRT_TIME_ACCOUNTING, as distributions mostly do.
    """
    text = _read(f"/boot/config-{os.uname().release}")
    if not text:
        import gzip

        try:
            with gzip.open("/proc/config.gz", "rt") as f:
                text = f.read()
        except (OSError, EOFError):
            return None
    return "\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y" not in text


class ProcessorStep(NamedTuple):
    """What one processor did; busy with the time that was stolen."""

    number: int
    busy_ns: int
    steal_ns: int


class ProcessorSteal:
    """What single processors did, each since it was last reported.

    A processor is reported at once when time was stolen from it, and else now and then: its busy
    time comes in steps of a hundredth of a second, so that a share of it is the more exact the
    longer the time. A machine has many processors, and few lose anything.
    """

    AT_LEAST_EVERY = 10
    """Steps: of what ran longer ago nothing is said to have been stolen now."""

    def __init__(self, times: dict[str, cpu_times.CpuTime]) -> None:
        self._reported = dict(times)
        self._steps = dict.fromkeys(times, 0)

    def step(self, times: dict[str, cpu_times.CpuTime], *, reported: bool) -> list[ProcessorStep]:
        if not reported:
            self._reported, self._steps = dict(times), dict.fromkeys(times, 0)
            return []
        rows = []
        for name, now in times.items():
            if name == "all":
                continue
            since = now.since(self._reported.setdefault(name, now))
            self._steps[name] = steps = self._steps.get(name, 0) + 1
            if not since.steal_ns and steps < self.AT_LEAST_EVERY:
                continue
            busy = since.total_ns - since.idle_ns
            if busy:
                rows.append(ProcessorStep(int(name), busy, since.steal_ns))
            self._reported[name], self._steps[name] = now, 0
        return rows


class StolenTime:
    """One process's view of it, step by step."""

    def __init__(self, pid: int) -> None:
        self._group = group_file(pid)
        times = cpu_times.read()
        self._processors = ProcessorSteal(times)
        self._last = self._now(times)

    def step(
        self, *, reported: bool = True
    ) -> tuple[tuple[int, int, int, int], list[ProcessorStep]]:
        """Busy, idle, stolen and throttled nanoseconds since the last step, and of processors.

        What is not `reported` is no part of what is reported of a processor later.
        """
        times = cpu_times.read()
        now = self._now(times)
        steps = [max(new - old, 0) for new, old in zip(now, self._last, strict=True)]
        self._last = now
        return (steps[0], steps[1], steps[2], steps[3]), self._processors.step(
            times, reported=reported
        )

    def _now(self, times: dict[str, cpu_times.CpuTime]) -> tuple[int, int, int, int]:
        machine = times["all"]
        throttled = throttled_ns(_read(self._group)) if self._group else 0
        # The machine's busy time is reported without the steal, that of threads may be with it.
        busy = machine.total_ns - machine.idle_ns
        return busy, machine.idle_ns, machine.steal_ns, throttled


def _read(path: str) -> str:
    try:
        with open(path, "rb", 0) as f:
            return f.read(1 << 16).decode(errors="replace")
    except OSError:
        return ""
