"""Samples of the whole machine: one clock event per processor, through a ring in memory."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from sonde.errors import SondeError

from . import perf_events

_PAGES = 64
_HEAD_AT, _TAIL_AT = 1024, 1032
_HEADER = struct.Struct("<IHH")
_LOST, _COMM, _SAMPLE, _MMAP2 = 2, 3, 9, 10
_MODE, _KERNEL = 7, 1
_SAMPLE_BODY = struct.Struct("<QIIQII")
_TASK = struct.Struct("<II")
_MMAP_BODY = struct.Struct("<IIQQQ")
# after it: major, minor, inode and its generation (or a build id), protection and flags
_MMAP_NAME_AT = _MMAP_BODY.size + 32


class Tick(NamedTuple):
    """Where a processor was when its clock struck."""

    time: int
    pid: int
    tid: int
    cpu: int
    address: int
    kernel: bool


class Mapped(NamedTuple):
    """A process has mapped code from a file."""

    pid: int
    start: int
    size: int
    offset: int
    path: str


class Renamed(NamedTuple):
    pid: int
    tid: int
    name: str


class MachineSampler:
    """All processors, until closed."""

    def __init__(self, rate: int) -> None:
        self.lost = 0
        self.processors = 0
        self._rings: list[_Ring] = []
        try:
            for cpu in online():
                self._rings.append(_Ring(cpu, rate))
            self.processors = len(self._rings)
        except OSError as error:
            self.close()
            raise SondeError(
                f"the whole machine cannot be sampled: {perf_events.refusal(error)}; run as root, "
                "or grant CAP_PERFMON"
            ) from None

    def take(self) -> Iterator[Tick | Mapped | Renamed]:
        """What has come since the last time, processor by processor."""
        for ring in self._rings:
            for kind, misc, body in ring.take():
                if kind == _SAMPLE:
                    address, pid, tid, time, cpu, _ = _SAMPLE_BODY.unpack_from(body)
                    yield Tick(time, pid, tid, cpu, address, misc & _MODE == _KERNEL)
                elif kind == _MMAP2:
                    pid, _, start, size, offset = _MMAP_BODY.unpack_from(body)
                    path = _text(body[_MMAP_NAME_AT:])
                    yield Mapped(pid, start, size, offset, path)
                elif kind == _COMM:
                    pid, tid = _TASK.unpack_from(body)
                    yield Renamed(pid, tid, _text(body[_TASK.size :]))
                elif kind == _LOST:
                    self.lost += struct.unpack_from("<QQ", body)[1]

    def close(self) -> None:
        while self._rings:
            self._rings.pop().close()


class _Ring:
    def __init__(self, cpu: int, rate: int) -> None:
        self._fd = perf_events.open_machine(cpu, rate)
        self._size = _PAGES * mmap.PAGESIZE
        self._memory = mmap.mmap(self._fd, mmap.PAGESIZE + self._size)

    def take(self) -> Iterator[tuple[int, int, bytes]]:
        (head,) = struct.unpack_from("<Q", self._memory, _HEAD_AT)
        (tail,) = struct.unpack_from("<Q", self._memory, _TAIL_AT)
        while tail < head:
            kind, misc, size = _HEADER.unpack(self._bytes(tail, _HEADER.size))
            if size < _HEADER.size:
                tail = head
                break
            yield kind, misc, self._bytes(tail + _HEADER.size, size - _HEADER.size)
            tail += size
        struct.pack_into("<Q", self._memory, _TAIL_AT, tail)

    def _bytes(self, at: int, size: int) -> bytes:
        at %= self._size
        start = mmap.PAGESIZE + at
        first = self._memory[start : start + min(size, self._size - at)]
        rest = size - len(first)
        return first + self._memory[mmap.PAGESIZE : mmap.PAGESIZE + rest] if rest else first

    def close(self) -> None:
        self._memory.close()
        os.close(self._fd)


def online() -> list[int]:
    """The numbers of the processors that are there."""
    try:
        with open("/sys/devices/system/cpu/online") as f:
            text = f.read()
    except OSError:
        return list(range(os.cpu_count() or 1))
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode(errors="replace")
