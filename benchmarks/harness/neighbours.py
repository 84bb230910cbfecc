"""How much of the machine others took: what is timed beside a busy neighbour says little.

A busy neighbour costs more than its time slices. Two virtual processors may be two threads of one
core, and then a program runs up to half slower while the other one works, without any trace in
its CPU time but the length of it.
"""

from __future__ import annotations

import glob
import os
import time
from pathlib import Path

QUIET = 0.1
"""Processors' worth of neighbours up to which a round counts as undisturbed."""

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def machine_busy_ns() -> int:
    """CPU time used by anybody on this machine, or taken from it by the hypervisor."""
    with open("/proc/stat", "rb") as f:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(
            int, f.readline().split()[1:9]
        )
    return (user + nice + system + irq + softirq + steal) * _TICK_NS


def _cpu_ns(pid: int | str) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = text[text.rfind(")") + 1 :].split()
    # Own user and system time, and that of children which ended and were waited for.
    return sum(map(int, fields[11:15])) * _TICK_NS


def children(pid: int | str = "self") -> list[int]:
    """Processes started by this one, or by another, as far as they live."""
    found: list[int] = []
    for text in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            found += map(int, Path(text).read_text().split())
        except OSError:
            continue
    return found


def ours_ns(pid: int | str = "self") -> int:
    """CPU time of this process, of those it started, and of those they did."""
    return _cpu_ns(pid) + sum(map(ours_ns, children(pid)))


class Neighbours:
    """Measures from one call of `share` to the next."""

    def __init__(self) -> None:
        self._before = self._now()

    def _now(self) -> tuple[int, int, int]:
        return machine_busy_ns(), ours_ns(), time.monotonic_ns()

    def seconds(self) -> float:
        """Since the last call of `share`."""
        return (time.monotonic_ns() - self._before[2]) / 1e9

    def share(self) -> float:
        """Processors' worth of time that went to others: 1.0 is one busy processor."""
        before, self._before = self._before, self._now()
        busy, ours, wall = (now - then for now, then in zip(self._before, before, strict=True))
        return max(busy - ours, 0) / max(wall, 1)
