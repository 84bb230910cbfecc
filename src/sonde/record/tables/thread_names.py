"""What the threads of one process are called."""

from __future__ import annotations

import time
from bisect import insort
from typing import TYPE_CHECKING

from ..shm import layout as shm
from ..system import procfs

if TYPE_CHECKING:
    from collections.abc import Container

# A name may be reported this long before its thread is first seen.
NAME_NS = 60_000_000_000
NAMES_AT_ONE_PLACE = 8


class ThreadNames:
    def __init__(self, pid: int, runtime: str) -> None:
        self._pid = pid
        self._runtime = runtime
        self._names: dict[int, list[tuple[int, str]]] = {}
        """And since when, by the address of their threading.Thread, or by the number of a thread
        that the kernel does not know."""
        self.reported: dict[int, str] = {}
        """By thread id, as a program reported it."""

    def __contains__(self, thread_object: int) -> bool:
        return thread_object in self._names

    def of(self, tid: int, thread_object: int, at: int) -> str:
        """The kernel's own name, if no other was reported."""
        if tid in self.reported:
            return self.reported[tid]
        if names := self._names.get(thread_object):
            return [name for since, name in names if since <= at or since == names[0][0]][-1]
        if tid == self._pid and self._runtime == "cpython":
            return "MainThread"
        return procfs.name_of(self._pid, tid)

    def add(self, thread_object: int, since: int, name: str) -> None:
        insort(self._names.setdefault(thread_object, []), (since, name))

    def of_virtual(self, number: int) -> str:
        """Most have no name of their own."""
        names = self._names.get(number)
        return names[-1][1] if names else f"virtual thread {number & ~shm.VIRTUAL}"

    def add_virtual(self, number: int, name: str) -> None:
        self._names[number] = [(time.monotonic_ns(), name)]

    def forget(self, now: int, known: Container[int]) -> None:
        """Of threads that are over, reported so long ago that no ring speaks of them any more."""
        for address, names in list(self._names.items()):
            if address not in known and now - names[-1][0] > NAME_NS:
                del self._names[address]
            else:
                del names[:-NAMES_AT_ONE_PLACE]
