"""Kernel events of one thread on their way into the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm import layout as shm

if TYPE_CHECKING:
    from .process_tables import ProcessTables
    from .ring_thread import RingThread
    from .stacks import StackDecoder


class EventRows:
    """An event is kept until the next record shows what lay at its address, or does not."""

    def __init__(self, tables: ProcessTables, thread: RingThread, stacks: StackDecoder) -> None:
        self._tables = tables
        self._thread = thread
        self._stacks = stacks
        self._kept: list[int] | None = None

    def event(self, at: int, which: int, flags: int) -> None:
        tables = self._tables
        (_, _, _, _, now, weight, address, keep, count, interpreter, number) = (
            shm.EVENT.unpack_from(tables.memory, at)
        )
        if flags & shm.CHAINED:
            link, line = self._stacks.chain_of(at, count, flags, shm.EVENT.size)
            self._count(which)
            weight = weight or tables.event_periods.get(which, 1)
            row = self._thread.time.row(interpreter)
            at = now - tables.segment.origin
            tables.segment.writer.append("chained", row, at, link, line, weight, which)
            return
        tables.spans.check(number)
        span = tables.spans.row(number)
        context = self._stacks.stack_of(at, keep, count, flags, shm.EVENT.size)
        self.flush()
        self._count(which)
        weight = weight or tables.event_periods.get(which, 1)
        row = self._thread.time.row(interpreter)
        at = now - tables.segment.origin
        self._kept = [row, at, which, context, weight, span, address, 0, -1, 0]

    def _count(self, which: int) -> None:
        counts = self._tables.events_reported
        counts[which] = counts.get(which, 0) + 1

    def data(self, at: int, memory: int) -> None:
        """What the event before this was about."""
        tables = self._tables
        _, _, _, _, type_, offset = shm.DATA.unpack_from(tables.memory, at)
        if self._kept is None:
            return
        name = tables.types.get(type_, "")
        self._kept[7] = memory
        if name:
            self._kept[8:] = [tables.contexts.type(name, tables.segment.runtime), offset]
        self.flush()

    def flush(self) -> None:
        if self._kept is None:
            return
        tables = self._tables
        address, memory = self._kept[6:8]
        if address and memory == shm.MEMORY_UNKNOWN:
            self._kept[7] = tables.maps.kind(address)
        tables.segment.writer.append("event_samples", *self._kept)
        self._kept = None
