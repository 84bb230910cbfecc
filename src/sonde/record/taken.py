"""What others took from a process: the hypervisor's steal, and the quota of its control group."""

from __future__ import annotations

import os

from . import cpus


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
    """The cpu.stat that tells of the process's own control group, None if it has none."""
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
    """Whether this kernel counts stolen time as CPU time of who ran; None if it does not tell.

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


class Taken:
    """One process's view of it, step by step."""

    def __init__(self, pid: int) -> None:
        self._group = group_file(pid)
        self._last = self._now()

    def step(self) -> tuple[int, int, int, int]:
        """Busy, idle, stolen and throttled nanoseconds since the last step."""
        now = self._now()
        steps = [max(new - old, 0) for new, old in zip(now, self._last, strict=True)]
        self._last = now
        return steps[0], steps[1], steps[2], steps[3]

    def _now(self) -> tuple[int, int, int, int]:
        machine = cpus.read()["all"]
        throttled = throttled_ns(_read(self._group)) if self._group else 0
        # The machine's busy time is told without the steal, that of threads may be with it.
        busy = machine.total_ns - machine.idle_ns
        return busy, machine.idle_ns, machine.steal_ns, throttled


def _read(path: str) -> str:
    try:
        with open(path, "rb", 0) as f:
            return f.read(1 << 16).decode(errors="replace")
    except OSError:
        return ""
