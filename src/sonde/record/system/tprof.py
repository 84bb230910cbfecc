"""Sampling the whole machine: which process, thread, module and symbol each processor was in."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from .native_symbols import JIT, UNKNOWN, Files, JitCode, Kernel
from .perf_ring import MachineSampler, Mapped, Renamed, Tick
from .procfs import name_of

# Short enough that the maps of a process that ends are mostly read while it lives.
LOOK_S = 0.05
IDLE = "idle"
OUTSIDE = "outside of this container"
# What a processor without work is in (Linux 6.18, x86-64 and arm64).
_IDLES = re.compile("idle|halt|mwait|cpuidle|wfi")
# The number that the kernel gives to the first pid namespace (PROC_PID_INIT_INO).
_FIRST_NAMESPACE = 0xEFFFFFFC


class LocatedTick(NamedTuple):
    """Where a tick fell, in words."""

    time: int
    pid: int
    process: str
    tid: int
    thread: str
    module: str
    symbol: str
    processor: int = -1
    file: str = ""
    """Of the function that ran, where an agent has named it; the symbol ends in file and line."""
    line: int = 0

    @property
    def idle(self) -> bool:
        return self.pid == 0 and self.process == IDLE


@dataclass
class Ticks:
    places: list[LocatedTick]
    lost: int
    processors: int
    rate: int
    duration_ns: int
    began_ns: int
    """By the machine's monotonic clock, as the ticks' times are."""


class _Map(NamedTuple):
    start: int
    end: int
    offset: int
    path: str


@dataclass
class _Process:
    pid: int
    made: JitCode
    maps: list[_Map] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def seen(cls, pid: int) -> _Process:
        found = cls(pid, JitCode(pid))
        try:
            with open(f"/proc/{pid}/maps") as f:
                lines = f.read().splitlines()
        except OSError:
            lines = []
        for line in lines:
            span, mode, offset, _, _, *path = line.split(maxsplit=5)
            if "x" in mode:
                start, end = (int(part, 16) for part in span.split("-"))
                found.has_mapped(_Map(start, end, int(offset, 16), path[0] if path else ""))
        return found

    def has_mapped(self, new: _Map) -> None:
        self.maps.append(new)
        name = os.path.basename(new.path)
        if name.startswith("jit-") and name.endswith(".dump"):
            self.made.maps_dump(new.path)

    def name(self, tid: int) -> str:
        known = self.names.get(tid)
        if known is None:
            known = name_of(self.pid, tid)
            if known:
                self.names[tid] = known
        return known

    def map_of(self, address: int) -> _Map | None:
        # The last that was mapped there is the one that is there.
        return next((m for m in reversed(self.maps) if m.start <= address < m.end), None)


def _in_first_namespace() -> bool:
    try:
        return os.stat("/proc/self/ns/pid").st_ino == _FIRST_NAMESPACE
    except OSError:
        return True


class Profiler:
    """Looks at the machine until it is to end."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._machine = MachineSampler(rate)
        self._began = time.monotonic_ns()
        self._kernel = Kernel()
        self._files = Files()
        self._processes: dict[int, _Process] = {}
        self._ticks: list[Tick] = []
        self._sees_all = _in_first_namespace()

    def look(self) -> None:
        """Takes what has come; processes are looked at while they live."""
        for event in self._machine.take():
            if isinstance(event, Tick):
                self._ticks.append(event)
                if event.pid:
                    self._process(event.pid).name(event.tid)
            elif isinstance(event, Mapped):
                self._process(event.pid).has_mapped(
                    _Map(event.start, event.start + event.size, event.offset, event.path)
                )
            elif isinstance(event, Renamed):
                self._process(event.pid).names[event.tid] = event.name
        for process in self._processes.values():
            process.made.read()

    def _process(self, pid: int) -> _Process:
        known = self._processes.get(pid)
        if known is None:
            known = self._processes[pid] = _Process.seen(pid)
        return known

    def end(self) -> Ticks:
        self.look()
        # Closing takes the kernel seconds on a busy machine, in which nothing is counted.
        lasted = time.monotonic_ns() - self._began
        lost, processors = self._machine.lost, self._machine.processors
        self._machine.close()
        places = [self._place(tick) for tick in sorted(self._ticks)]
        return Ticks(places, lost, processors, self._rate, lasted, self._began)

    def _place(self, tick: Tick) -> LocatedTick:
        if not tick.pid:
            # So the kernel calls processes outside of our pid namespace, too.
            if not tick.kernel:
                return LocatedTick(
                    tick.time, 0, OUTSIDE, tick.tid, OUTSIDE, "[unknown]", UNKNOWN, tick.cpu
                )
            module, symbol = self._kernel.find(tick.address)
            who = IDLE if self._sees_all or _IDLES.search(symbol) else OUTSIDE
            return LocatedTick(tick.time, 0, who, tick.tid, who, module, symbol, tick.cpu)
        process = self._process(tick.pid)
        thread = process.name(tick.tid)
        program = process.name(tick.pid) or thread
        module, symbol = (
            self._kernel.find(tick.address) if tick.kernel else self._find(process, tick)
        )
        return LocatedTick(tick.time, tick.pid, program, tick.tid, thread, module, symbol, tick.cpu)

    def _find(self, process: _Process, tick: Tick) -> tuple[str, str]:
        found = process.map_of(tick.address)
        if found is None or not found.path.startswith("/") or found.path.startswith("//anon"):
            name = process.made.symbols.find(tick.address, tick.time)
            if name is not None:
                return JIT, name
            # What the kernel calls memory without a file while it is mapped.
            named = found is not None and found.path and not found.path.startswith("//anon")
            return (found.path if found and named else "[unknown]"), UNKNOWN
        offset = tick.address - found.start + found.offset
        # Through the process's own root: it may live in a container. One that has ended has none.
        inside = f"/proc/{process.pid}/root{found.path}"
        path = inside if os.path.exists(inside) else found.path
        return os.path.basename(found.path), self._files.find(path, offset) or UNKNOWN


def profile(seconds: float, rate: int, over: threading.Event | None = None) -> Ticks:
    """Looks for so long, or until it is `over`."""
    over = over or threading.Event()
    profiler = Profiler(rate)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not over.wait(min(left, LOOK_S)):
        profiler.look()
    return profiler.end()
