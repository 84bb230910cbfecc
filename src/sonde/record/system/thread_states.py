"""What the kernel says each thread of a process does at this moment."""

from __future__ import annotations

import os
import platform
from typing import NamedTuple

from .procfs import stat_of

RUNS, SLEEPS, STOPPED, UNKNOWN = "runs", "sleeps", "stopped", "?"
AGENT = "sonde-"
"""What threads of the agent are called."""

# Numbers of system calls that wait, by what for (Linux 6.18, asm/unistd_64.h and asm-generic).
_WAITING: dict[str, dict[str, tuple[int, ...]]] = {
    "x86_64": {
        "I/O": (0, 1, 7, 17, 18, 19, 20, 23, 42, 43, 44, 45, 46, 47, 74, 75, 208, 232, 270, 271,
                281, 288, 299, 307, 426, 441),
        "sleep": (35, 230, 34, 128),
        "child": (61, 247),
        "futex": (202, 449),
    },
    "aarch64": {
        "I/O": (63, 64, 65, 66, 67, 68, 72, 73, 4, 22, 82, 83, 203, 202, 206, 207, 211, 212, 242,
                243, 269, 426, 441),
        "sleep": (101, 115, 133, 137),
        "child": (95, 260),
        "futex": (98, 449),
    },
}  # fmt: skip
_MEANING = {
    number: meaning
    for meaning, numbers in _WAITING.get(platform.machine(), {}).items()
    for number in numbers
}


class ThreadState(NamedTuple):
    tid: int
    name: str
    """As the kernel has it: the first fifteen bytes, and often the program's own."""
    state: str
    waits_for: str
    """I/O, sleep, child or futex, as far as the system call shows; empty if it does not."""


def thread_states(pid: int) -> dict[int, ThreadState]:
    """By thread id; the agent's own threads are left out. Empty if the process has ended."""
    found: dict[int, ThreadState] = {}
    try:
        tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return found
    for tid in tids:
        state = _state(pid, tid)
        if state is not None and not state.name.startswith(AGENT):
            found[tid] = state
    return found


def _state(pid: int, tid: int) -> ThreadState | None:
    folder = f"/proc/{pid}/task/{tid}"
    stat = stat_of(pid, tid)
    if stat is None or stat.has_ended:
        return None
    name, letter = stat.name, stat.state
    if letter == "R":
        return ThreadState(tid, name, RUNS, "")
    if letter in "Tt":
        return ThreadState(tid, name, STOPPED, "")
    return ThreadState(tid, name, SLEEPS if letter in "SDI" else UNKNOWN, _waits_for(folder))


def _waits_for(folder: str) -> str:
    """By the system call it is in, which only those may read who may trace the process."""
    try:
        with open(f"{folder}/syscall", "rb") as f:
            number = f.read().split(maxsplit=1)[0]
        return _MEANING.get(int(number), "")
    except (OSError, ValueError, IndexError):
        return ""
