"""What each processor did: busy, idle, interrupts, stolen."""

from __future__ import annotations

import os
from dataclasses import dataclass

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """Of one processor, or of all together; in nanoseconds."""

    name: str
    user_ns: int
    system_ns: int
    interrupt_ns: int
    steal_ns: int
    idle_ns: int

    @property
    def total_ns(self) -> int:
        return self.user_ns + self.system_ns + self.interrupt_ns + self.steal_ns + self.idle_ns

    def since(self, before: CpuTime) -> CpuTime:
        """What was added; the kernel's idle time has been seen to go back by a tick."""
        return CpuTime(
            self.name,
            max(self.user_ns - before.user_ns, 0),
            max(self.system_ns - before.system_ns, 0),
            max(self.interrupt_ns - before.interrupt_ns, 0),
            max(self.steal_ns - before.steal_ns, 0),
            max(self.idle_ns - before.idle_ns, 0),
        )

    def to_json(self) -> dict[str, int | str]:
        return {
            "cpu": self.name,
            "user_ns": self.user_ns,
            "system_ns": self.system_ns,
            "interrupt_ns": self.interrupt_ns,
            "steal_ns": self.steal_ns,
            "idle_ns": self.idle_ns,
        }


def read() -> dict[str, CpuTime]:
    """Since boot, by name; all processors together are called `all`."""
    with open("/proc/stat", encoding="ascii", errors="replace") as f:
        return parse(f.read())


def together() -> CpuTime:
    """All processors; nothing where that cannot be read."""
    try:
        with open("/proc/stat", encoding="ascii", errors="replace") as f:
            return parse(f.readline())["all"]
    except (OSError, ValueError, KeyError):
        return CpuTime("all", 0, 0, 0, 0, 0)


def parse(text: str) -> dict[str, CpuTime]:
    found: dict[str, CpuTime] = {}
    for line in text.splitlines():
        word, *rest = line.split()
        if not word.startswith("cpu"):
            break
        user, nice, system, idle, iowait, irq, softirq, steal = (
            int(ticks) * _TICK_NS for ticks in rest[:8]
        )
        name = word[3:] or "all"
        found[name] = CpuTime(name, user + nice, system, irq + softirq, steal, idle + iowait)
    return found


def steps(before: dict[str, CpuTime], now: dict[str, CpuTime]) -> list[CpuTime]:
    """What each did in between; one that was not there before began with nothing."""
    return [now[name].since(before[name]) for name in now if name in before]
