"""How a process that is not our child ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct

from .procfs import stat_of

# linux/pidfd.h, 6.15: what a pidfd reports of a process that was reaped.
_GET_INFO = 0xC040FF0B
_INFO = struct.Struct("<QQ 11I i")
_INFO_EXIT = 1 << 3


def describe(status: int) -> str:
    """A wait status in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"killed by {signal.Signals(number).name}"
        except ValueError:
            return f"killed by signal {number}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def of(pid: int, pidfd: int) -> str | None:
    """In words; None where the kernel does not report it.

    Until its parent has looked at it, it is found in /proc; from then on only the pidfd knows.
    """
    stat = stat_of(pid)
    status = stat.exit_status if stat else None
    if status is None:
        status = _of_reaped(pidfd)
    with contextlib.suppress(ValueError):
        return None if status is None else describe(status)
    return None


def _of_reaped(pidfd: int) -> int | None:
    try:
        answer = fcntl.ioctl(pidfd, _GET_INFO, _INFO.pack(_INFO_EXIT, *[0] * 13))
    except OSError:
        return None
    info = _INFO.unpack(answer)
    return int(info[-1]) if info[0] & _INFO_EXIT else None
