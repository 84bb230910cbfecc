"""What one thread has used, counted by the kernel: perf counters and its figures in /proc.

The counters of a thread are one group: a single read gives all of them as of one moment, and after
the thread has ended still what it had used in all. (Reading them through the page that perf maps
into a process, without a system call, is for a thread's own hardware counters only.)
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from dataclasses import dataclass, fields

from . import perf_events


@dataclass
class CounterTotals:
    """Totals; -1: not counted here."""

    cpu_ns: int = 0
    run_delay_ns: int = 0
    voluntary: int = -1
    involuntary: int = -1
    migrations: int = -1
    minor_faults: int = -1
    major_faults: int = -1
    cycles: int = -1
    instructions: int = -1
    cache_misses: int = -1
    branch_misses: int = -1

    def since(self, before: CounterTotals) -> CounterTotals:
        """What was added; a clock that seems to go back has not moved."""
        steps = CounterTotals()
        for field in fields(CounterTotals):
            now, then = getattr(self, field.name), getattr(before, field.name)
            setattr(steps, field.name, -1 if now < 0 or then < 0 else max(now - then, 0))
        return steps


class Countable:
    """Which counters this machine gives us; found out once, at the first thread."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.exclude_kernel = False

    def open(self, tid: int) -> list[int]:
        """The thread's counters; none where perf events are not permitted."""
        if self.names is None:
            self.names = self._choose(tid)
        if not self.names:
            return []
        try:
            return perf_events.open_counters(tid, self.names, exclude_kernel=self.exclude_kernel)
        except OSError as error:
            if error.errno != errno.ESRCH:
                self.names = []  # no more descriptors, most likely: /proc does without
            return []

    def _choose(self, tid: int) -> list[str]:
        # Without the right to look into the kernel, what happens there is not counted.
        self.exclude_kernel = not _opens(tid, ["cpu_ns"], exclude_kernel=False)
        names: list[str] = []
        for name in perf_events.COUNTED:
            if _opens(tid, [*names, name], exclude_kernel=self.exclude_kernel):
                names.append(name)
            elif not names:
                break
        return names


def _opens(tid: int, names: list[str], *, exclude_kernel: bool) -> bool:
    try:
        opened = perf_events.open_counters(tid, names, exclude_kernel=exclude_kernel)
    except OSError:
        return False
    for fd in opened:
        os.close(fd)
    return True


class Counters:
    """One thread's, from now on."""

    def __init__(self, pid: int, tid: int, countable: Countable) -> None:
        folder = f"/proc/{pid}/task/{tid}"
        self._events = countable.open(tid)
        self._names = (countable.names or []) if self._events else []
        self._values = struct.Struct(f"<{1 + len(self._names)}Q")
        self._files = {name: _open(f"{folder}/{name}") for name in ("schedstat", "status", "stat")}
        self._last = CounterTotals()
        self._idle_cpu = -1
        self._last = self._read()
        self._first_cpu = self._last.cpu_ns

    def step(self) -> CounterTotals | None:
        """What it used since the last step; None if it did not run."""
        if self._events:
            cpu = self._counted()["cpu_ns"]
            if cpu == self._idle_cpu:
                return None
            self._idle_cpu = cpu
        now = self._read()
        step = now.since(self._last)
        self._last = now
        return step if step.cpu_ns or step.run_delay_ns else None

    @property
    def cpu_ns(self) -> int:
        """All that was counted so far."""
        return self._last.cpu_ns - self._first_cpu

    def close(self) -> None:
        for fd in (*self._events, *self._files.values()):
            if fd >= 0:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._events.clear()
        self._files.clear()

    def _read(self) -> CounterTotals:
        used = CounterTotals()
        # A thread that ended has no files any more: what they said last is what it used.
        schedstat = self._text("schedstat").split()
        used.run_delay_ns = int(schedstat[1]) if len(schedstat) > 1 else self._last.run_delay_ns
        used.voluntary, used.involuntary = self._switches()
        if self._events:
            for name, value in self._counted().items():
                setattr(used, name, value)
            return used
        used.cpu_ns = int(schedstat[0]) if schedstat else self._last.cpu_ns
        text = self._text("stat")
        fields_ = text[text.rfind(")") + 1 :].split()  # the name before it may hold anything
        if len(fields_) > 9:
            used.minor_faults, used.major_faults = int(fields_[7]), int(fields_[9])
        else:
            used.minor_faults, used.major_faults = self._last.minor_faults, self._last.major_faults
        return used

    def _counted(self) -> dict[str, int]:
        _, *values = self._values.unpack(os.read(self._events[0], self._values.size))
        return dict(zip(self._names, values, strict=True))

    def _switches(self) -> tuple[int, int]:
        text = self._text("status")
        at = text.rfind("voluntary_ctxt_switches:", 0, text.rfind("nonvoluntary"))
        if at < 0:
            return self._last.voluntary, self._last.involuntary
        numbers = [int(line.split()[1]) for line in text[at:].splitlines()[:2]]
        return numbers[0], numbers[1]

    def _text(self, name: str) -> str:
        fd = self._files[name]
        if fd < 0:
            return ""
        try:
            return os.pread(fd, 4096, 0).decode(errors="replace")
        except OSError:
            return ""


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
