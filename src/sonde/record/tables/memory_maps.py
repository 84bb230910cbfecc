"""What kind of memory an address of a process lies in."""

from __future__ import annotations

import time
from bisect import bisect_right

from ..shm import layout as shm

# Kinds of memory that only the list of maps has, after those that the agent reports.
FILE, LARGE = 3, 4

# A program that maps memory all the time must not have its list read at every event.
FRESH_NS = 100_000_000


class MemoryMaps:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._starts: list[int] = []
        self._found: list[tuple[int, int]] = []
        """End and kind, by start."""
        self._read_at = 0

    def kind(self, address: int) -> int:
        found = self._look_up(address)
        if found is None and time.monotonic_ns() - self._read_at > FRESH_NS:
            self._read()
            found = self._look_up(address)
        return shm.MEMORY_UNKNOWN if found is None else found

    def _look_up(self, address: int) -> int | None:
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        end, kind = self._found[at]
        return kind if address < end else None

    def _read(self) -> None:
        self._read_at = time.monotonic_ns()
        try:
            with open(f"/proc/{self._pid}/maps", "rb") as f:
                lines = f.read().splitlines()
        except OSError:
            return
        self._starts, self._found = [], []
        for line in lines:
            fields = line.split(maxsplit=5)
            start, _, end = fields[0].partition(b"-")
            if fields[-1] == b"[stack]":
                kind = shm.MEMORY_STACK
            else:
                kind = FILE if int(fields[4]) else LARGE
            self._starts.append(int(start, 16))
            self._found.append((int(end, 16), kind))
