"""What the kernel tells of a process and its threads: nothing, or 0, once they are gone."""

from __future__ import annotations

import os
import time

About = tuple[int, str, list[str]]
"""Of a process: its parent, its program, and that one's arguments."""


def threads_of(pid: int) -> set[int]:
    """The ids of those that live; where threads end meanwhile, a few that live may be missing."""
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except OSError:
        return set()


def has_thread(pid: int, tid: int) -> bool:
    """Whether this thread lives; unlike a listing of all, the answer is always right."""
    return os.path.exists(f"/proc/{pid}/task/{tid}")


def name_of(pid: int, tid: int) -> str:
    """What the kernel calls a thread."""
    try:
        with open(f"/proc/{pid}/task/{tid}/comm") as f:
            return f.read().rstrip("\n")
    except (OSError, UnicodeDecodeError):
        return ""


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
    try:
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as f:
            stat = f.read()
    except OSError:
        return 0
    return int(stat[stat.rfind(b")") + 2 :].split()[19])


def birth_of(pid: int, tid: int) -> int:
    """When a thread was started, on the monotonic clock, to 10 ms."""
    ticks = born_ticks(pid, tid)
    if not ticks:
        return 0
    age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10_000_000
    return max(time.monotonic_ns() - age, 1)


def about(pid: int) -> About:
    argv = _read(f"/proc/{pid}/cmdline").split("\0")[:-1]
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = ""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat[stat.rfind(")") + 1 :].split()
    return int(fields[1]) if len(fields) > 1 else 0, executable, argv


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
