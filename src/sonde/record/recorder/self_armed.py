"""Processes that armed themselves (native/core/protocol/self_arm.c): they did not wait for us.

Nothing is lost while their descriptors wait for us, so we let a moment pass: most children of a
program that forks often are over by then, and cost a row.
"""

from __future__ import annotations

import mmap
import os
import select
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..shm import layout as shm
from ..system import exit_status

if TYPE_CHECKING:
    from sonde.recording.write.writer import Writer

    from ..system.procfs import About
    from .target_set import TargetSet

WAIT_NS = 20_000_000
_TICK_NS = 10_000_000


@dataclass
class SelfArmed:
    """One that has introduced itself, with the descriptors that it sent."""

    pid: int
    tid: int
    """As it knows itself."""
    ppid: int
    reason: int
    runtime: str
    version: str
    memory: int
    events: list[int]
    since: int = field(default_factory=time.monotonic_ns)
    _pidfd: int = field(init=False)
    """Opened at once: after its parent has looked at it only this shows how it ended."""

    def __post_init__(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError:
            self._pidfd = -1

    def ended(self) -> tuple[bool, str | None]:
        """Whether the process is over, and how it ended, if the kernel reports it."""
        if self._pidfd < 0:
            return True, None
        ready = select.poll()  # select() takes no descriptor above 1,023
        ready.register(self._pidfd, select.POLLIN)
        if not ready.poll(0):
            return False, None
        return True, exit_status.of(self.pid, self._pidfd)

    def forget_process(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def close(self) -> None:
        """Nobody takes what it sent."""
        for fd in (self.memory, *self.events):
            os.close(fd)

    def fits(self, slots: int, ring_size: int) -> bool:
        """Whether the memory is as large as we take it for."""
        return os.fstat(self.memory).st_size >= shm.size_of(slots, ring_size)

    def has_data(self) -> bool:
        """Whether there is anything to drain: a thread has claimed a slot, or a note was made."""
        with mmap.mmap(self.memory, shm.HEADER_SIZE + shm.SLOT_SIZE) as view:
            if shm.HEADER.unpack_from(view, 0)[shm.HEADER_SLOTS_USED] > 1:
                return True
            head: int = shm.WORD.unpack_from(view, shm.HEADER_SIZE + shm.HEAD_AT)[0]
            unjoined: int = shm.WORD.unpack_from(view, shm.UNJOINED_AT)[0]
            return bool(head or unjoined)

    def armed_ns(self) -> int:
        with mmap.mmap(self.memory, shm.HEADER_SIZE) as view:
            since: int = shm.SELF_ARMED.unpack_from(view, shm.SELF_ARMED_AT)[0]
            return since


def write_ended(
    came: SelfArmed, exit_: str | None, target_set: TargetSet, writer: Writer, origin: int
) -> None:
    """The row of one that is over and has no data."""
    about = about_child(came, target_set)
    began = came.armed_ns()
    boot = began + time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    writer.append(
        "processes", came.pid, came.ppid, came.runtime, came.version, about[1], about[2],
        max(began - origin, 0), max(came.since - origin, 0), exit_ or "",
        boot // _TICK_NS << 20,
    )  # fmt: skip
    target_set.add_ended(came.pid, about)


def about_child(came: SelfArmed, target_set: TargetSet) -> About:
    """A forked child runs the program of its parent."""
    _, executable, argv = target_set.about(came.ppid) or (0, "", [])
    return came.ppid, executable, argv
