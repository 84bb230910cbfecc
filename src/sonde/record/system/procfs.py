"""What the kernel reports of a process and its threads: nothing, or 0, once they have ended."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

_ENDED = frozenset(
    "ZX"
)  # a zombie, whose parent has not waited for it, or one that has just been reaped

About = tuple[int, str, list[str]]
"""Of a process: its parent, its program, and that one's arguments."""


@dataclass(frozen=True)
class Stat:
    """The line /proc/PID/stat, of a process or of one of its threads; see proc(5)."""

    name: str
    fields: tuple[str, ...]
    """From the state on, which is field 3."""

    @property
    def state(self) -> str:
        return self.fields[0]

    @property
    def parent(self) -> int:
        return int(self.fields[1])

    @property
    def start_ticks(self) -> int:
        """When it was started, in clock ticks since boot."""
        return int(self.fields[19])

    @property
    def exit_status(self) -> int | None:
        """Of a zombie, as wait(2) has it; 0 for those who may not trace the process."""
        return int(self.fields[49]) if self.state == "Z" and len(self.fields) > 49 else None

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDED


def stat_of(pid: int, tid: int | None = None) -> Stat | None:
    path = f"/proc/{pid}/stat" if tid is None else f"/proc/{pid}/task/{tid}/stat"
    text = _read(path)
    head, closed, rest = text.rpartition(")")
    fields = tuple(rest.split())
    return Stat(head.partition("(")[2], fields) if closed and fields else None


def is_alive(pid: int) -> bool:
    """Whether the process is there, and is not a zombie."""
    stat = stat_of(pid)
    return stat is not None and not stat.has_ended


def threads_of(pid: int) -> set[int]:
    """The ids of those that live; where threads end meanwhile, a few that live may be missing."""
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except OSError:
        return set()


def descendants(pid: int) -> set[int]:
    """Its children and theirs, as far as they still live with the one that started them."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for tid in threads_of(parent):
            children = _read(f"/proc/{parent}/task/{tid}/children").split()
            new = {int(child) for child in children} - found
            found |= new
            waiting += new
    return found


def has_thread(pid: int, tid: int) -> bool:
    """Whether this thread lives; unlike a listing of all, the answer is always right."""
    return os.path.exists(f"/proc/{pid}/task/{tid}")


def name_of(pid: int, tid: int) -> str:
    """What the kernel calls a thread."""
    return _read(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")


def cpu_of(pid: int, tid: int) -> int:
    """The CPU time of a thread in nanoseconds."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", "rb") as f:
            return int(f.read().split()[0])
    except (OSError, IndexError, ValueError):
        return 0


def runnable() -> int:
    """How many threads run or want to, on the whole machine; 0 if the kernel does not say."""
    try:
        with open("/proc/loadavg", "rb") as f:
            return int(f.read().split()[3].split(b"/")[0])
    except (OSError, IndexError, ValueError):
        return 0


def process_cpu(pid: int) -> int:
    """The CPU time of a whole process, with that of the threads that have ended."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)  # CPUCLOCK_SCHED, linux/posix-timers.h
    except OSError:
        return 0


def born_ticks(pid: int, tid: int) -> int:
    """When a thread was started, in clock ticks since boot."""
    stat = stat_of(pid, tid)
    return stat.start_ticks if stat else 0


def birth_of(pid: int, tid: int) -> int:
    """When a thread was started, on the monotonic clock, to 10 ms."""
    ticks = born_ticks(pid, tid)
    if not ticks:
        return 0
    age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10_000_000
    return max(time.monotonic_ns() - age, 1)


def words_of(pid: int, name: str = "cmdline") -> list[str]:
    """The command line, or the environment, of a process; bytes that are no text are kept."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            words = f.read().removesuffix(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in words.split(b"\0")] if words else []


def about(pid: int) -> About:
    argv = _read(f"/proc/{pid}/cmdline").split("\0")[:-1]
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = ""
    stat = stat_of(pid)
    return stat.parent if stat else 0, executable, argv


def maps_of(pid: int) -> str:
    """The list of what a process has mapped."""
    return _read(f"/proc/{pid}/maps")


def inode_at(pid: int, address: int) -> int:
    """The inode of the file mapped at an address of process `pid`; 0 if there is none."""
    for line in maps_of(pid).splitlines():
        fields = line.split()
        start, end = (int(part, 16) for part in fields[0].split("-"))
        if start <= address < end:
            return int(fields[4])
    return 0


def _read(path: str) -> str:
    try:
        with open(path, "rb") as f:
            return f.read().decode(errors="replace")
    except OSError:
        return ""
