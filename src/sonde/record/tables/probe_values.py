"""The values that probes read in one process, and what was counted of each probe."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.row_values import VALUE_FLOAT

from ..shm.probe_area import FAILURES, TROUBLES, Counts

if TYPE_CHECKING:
    from ..shm.probe_area import ProbeArea
    from .segment import ProcessSegment
    from .stacks.contexts import Contexts
    from .thread_row import ThreadRow


@dataclass(slots=True)
class ProbeValue:
    thread: ThreadRow
    interpreter: int
    time: int
    context: int
    span: int
    """Its row."""
    kind: int
    type: str
    number: int
    text: str


@dataclass(slots=True)
class _Known:
    slot: int
    """Its number in the area."""
    file: str
    line: int
    expression: str
    every: int
    added: int
    row: int
    before: Counts
    """What was counted before this segment."""
    last: Counts
    """What was counted when it was removed; meanwhile of no use."""
    removed: int = 0


class ProbeValues:
    def __init__(self, segment: ProcessSegment, contexts: Contexts, area: ProbeArea | None) -> None:
        self._segment = segment
        self._contexts = contexts
        self._area = area
        self._known: dict[int, _Known] = {}
        """By serial number."""

    def add(
        self, serial: int, slot: int, file: str, line: int, expression: str, every: int, now: int
    ) -> None:
        known = _Known(slot, file, line, expression, every, now, -1, Counts(), Counts())
        self._known[serial] = known
        self._write(known)

    def remove(self, serial: int, now: int) -> None:
        """Before its place is used for another one."""
        known = self._known.get(serial)
        if known is not None and self._area is not None and not known.removed:
            known.last = self._area.counts(known.slot)
            known.removed = now

    def counts(self, serial: int) -> Counts:
        known = self._known.get(serial)
        if known is None or self._area is None:
            return Counts()
        return known.last if known.removed else self._area.counts(known.slot)

    def value(self, serial: int, found: ProbeValue) -> None:
        known = self._known.get(serial)
        if known is None:
            return
        type_ = self._contexts.type(found.type, self._segment.runtime) if found.type else -1
        real = 0.0
        number = found.number
        if found.kind == VALUE_FLOAT:
            real, number = struct.unpack("<d", struct.pack("<q", number))[0], 0
        self._segment.writer.append(
            "probe_values", known.row, found.thread.row(found.interpreter),
            found.time - self._segment.origin, found.context, found.span, found.kind, type_,
            number, real, found.text,
        )  # fmt: skip

    def write_counts(self) -> None:
        """At the end of a segment."""
        for serial, known in self._known.items():
            counts, before = self.counts(serial), known.before
            failures = [
                f"{count - old}\t{why}"
                for count, old, why in zip(counts.failures, before.failures, FAILURES, strict=False)
                if count > old
            ]
            trouble = TROUBLES[counts.trouble] if counts.trouble < len(TROUBLES) else ""
            origin = self._segment.origin
            self._segment.writer.update(
                "probes", known.row, hits=counts.hits - before.hits,
                sampled=counts.sampled - before.sampled, lost=counts.lost - before.lost,
                failures=failures, places=counts.places, trouble=trouble,
                removed_ns=known.removed - origin if known.removed else -1,
            )  # fmt: skip

    def start_segment(self) -> None:
        for serial, known in list(self._known.items()):
            if known.removed:
                del self._known[serial]
                continue
            known.before = self.counts(serial)
            self._write(known)

    def _write(self, known: _Known) -> None:
        segment = self._segment
        known.row = segment.writer.append(
            "probes", segment.row, known.file, known.line, known.expression, known.every,
            max(known.added - segment.origin, 0),
        )  # fmt: skip
