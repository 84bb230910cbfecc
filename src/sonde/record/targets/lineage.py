"""Where a process comes from: its parent, and whether it has become a program of its own since."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import time

from ..system.procfs import stat_of
from .cpython import read

_AT_RANDOM = 25
_RANDOM_SIZE = 16

# kcmp(2), x86-64.
_SYS_KCMP, _KCMP_VM = 312, 1
# Between vfork and exec a child borrows its parent's memory. No program takes this long there.
_BORROWS_S = 1.0


def parent_of(pid: int) -> int:
    """0 once it has exited."""
    stat = stat_of(pid)
    return stat.parent if stat else 0


def age_of(pid: int) -> float:
    """How long ago it was started, in seconds, to 10 ms."""
    stat = stat_of(pid)
    started = stat.start_ticks / os.sysconf("SC_CLK_TCK") if stat else 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def image_of(pid: int) -> bytes | None:
    """What distinguishes one program image from every other; a fork has its parent's.

    The kernel gives each program 16 random bytes when it is executed. None if they cannot be read.
    """
    try:
        with open(f"/proc/{pid}/auxv", "rb") as f:
            words = f.read()
        for kind, value in struct.iter_unpack("<QQ", words[: len(words) // 16 * 16]):
            if kind == _AT_RANDOM:
                return read(pid, value, _RANDOM_SIZE)
    except (OSError, ValueError, OverflowError):
        pass
    return None


def borrows_memory(pid: int, parent: int) -> bool:
    """Whether it lives in its parent's memory, as between vfork and exec.

    Whatever is done to such a process is done to its parent.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall(_SYS_KCMP, pid, parent, _KCMP_VM, 0, 0)
    if answer >= 0:
        return bool(answer == 0)
    # A kernel without kcmp; a parent that has exited has had its memory back.
    return ctypes.get_errno() != errno.ESRCH and age_of(pid) < _BORROWS_S
