"""Kernel events of one thread on their way into the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm import layout as shm

if TYPE_CHECKING:
    from .ring_reader import Slot


class EventRows:
    """An event is kept until the next record tells what lay at its address, or does not."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._kept: list[int] | None = None

    def event(self, at: int, which: int, flags: int) -> None:
        slot, process = self._slot, self._slot.process
        (_, _, _, _, now, weight, address, keep, count, interpreter, number) = (
            shm.EVENT.unpack_from(process.memory, at)
        )
        if flags & shm.CHAINED:
            link, line = slot.chain_of(at, count, flags, shm.EVENT.size)
            self._told(which)
            weight = weight or process.event_periods.get(which, 1)
            row = slot.time.row(interpreter)
            process.writer.append(
                "chained", row, now - process.segment.origin, link, line, weight, which
            )
            return
        process.spans.check(number)
        span = process.spans.row(number)
        context = slot.stack_of(at, keep, count, flags, shm.EVENT.size)
        self.let_go()
        self._told(which)
        weight = weight or process.event_periods.get(which, 1)
        row = slot.time.row(interpreter)
        self._kept = [
            row,
            now - process.segment.origin,
            which,
            context,
            weight,
            span,
            address,
            0,
            -1,
            0,
        ]

    def _told(self, which: int) -> None:
        told = self._slot.process.events_told
        told[which] = told.get(which, 0) + 1

    def data(self, at: int, memory: int) -> None:
        """What the event before this was about."""
        process = self._slot.process
        _, _, _, _, type_, offset = shm.DATA.unpack_from(process.memory, at)
        if self._kept is None:
            return
        name = process.types.get(type_, "")
        self._kept[7] = memory
        if name:
            self._kept[8:] = [process.contexts.type(name, process.runtime), offset]
        self.let_go()

    def let_go(self) -> None:
        if self._kept is None:
            return
        process = self._slot.process
        address, memory = self._kept[6:8]
        if address and memory == shm.MEMORY_UNKNOWN:
            self._kept[7] = process.maps.kind(address)
        process.writer.append("event_samples", *self._kept)
        self._kept = None
