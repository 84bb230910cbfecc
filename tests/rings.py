"""Rings of a target process whose records a test writes itself."""

from __future__ import annotations

from sonde.record.decode.target import TargetProcess
from sonde.record.shm import layout as shm

RING = 1 << 16
ORIGIN = 10**12


class Ring:
    """What a thread's agent would write."""

    def __init__(self, process: TargetProcess, index: int, tid: int, claimed: int = ORIGIN) -> None:
        self._memory = process.memory
        self._base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
        self._at = process.agent.rings_at + index * RING
        self._head: int = shm.WORD.unpack_from(self._memory, self._base + shm.HEAD_AT)[0]
        facts = (shm.SLOT_USED, tid, claimed, 1, claimed)
        shm.SLOT_FACTS.pack_into(self._memory, self._base, *facts)

    def write(self, kind: int, state: int, flags: int, body: bytes) -> None:
        size = 8 + (len(body) + 7) // 8 * 8
        left = RING - self._head % RING
        if left < size:
            self._put(left.to_bytes(4, "little") + bytes(4), left)
        head = size.to_bytes(4, "little") + kind.to_bytes(2, "little") + bytes((state, flags))
        self._put(head + body, size)

    def _put(self, data: bytes, size: int) -> None:
        at = self._at + self._head % RING
        self._memory[at : at + len(data)] = data
        self._head += size
        shm.WORD.pack_into(self._memory, self._base + shm.HEAD_AT, self._head)

    def name(self, number: int) -> None:
        name = f"function {number}".encode()
        head = shm.CODE.pack(0, 0, 0, 0, number, 0, len(name), 0, 0)
        self.write(shm.REC_NATIVE, 0, 0, head[8:] + name)

    def class_(self, number: int, name: str) -> None:
        head = shm.CODE.pack(0, 0, 0, 0, number, 0, len(name), 0, 0)
        self.write(shm.REC_TYPE, 0, 0, head[8:] + name.encode())

    def begin_span(self, number: int, at: int) -> None:
        head = shm.NOTE.pack(0, 0, 0, 0, at, number, 0, 0, 4)
        self.write(shm.REC_NOTE, shm.NOTE_BEGIN, 0, head[8:] + b"span")

    def end_span(self, number: int, at: int) -> None:
        head = shm.NOTE.pack(0, 0, 0, 0, at, number, 0, 0, 0)
        self.write(shm.REC_NOTE, shm.NOTE_END, 0, head[8:])
