"""What follows the rings in the memory of a session with probes or step traces: the mirror of
native/core/session/probe_area.h."""

from __future__ import annotations

import ctypes
import platform
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PROBES = 16
TEXT_SIZE = 384

ORDERS_AT, APPLIED_AT = 0, 4
PROBES_AT = 64
PROBE_SIZE = 512
STEPS_AT = 12288
STEPS_HEAD = 256
# serial line every file_length steps_length
PROBE = struct.Struct("<IIIHH")
# hits sampled lost, failures by reason, places trouble
COUNTS = struct.Struct("<QQQ 8Q II")
COUNTS_AT = 16
TEXT_AT = 128

SIZE = STEPS_AT + STEPS_HEAD
"""Without the room of a step trace."""
# state trouble what span_length | duration_ns room used | began_ns ended_ns spans
STEPS = struct.Struct("<IIII QQQ QQQ")
SPAN_AT = 64
MAX_SPAN = 192
STEPS_IDLE, STEPS_WANTED, STEPS_RUNNING = 0, 1, 2
STEPS_FULL, STEPS_ENDED, STEPS_REFUSED = 3, 4, 5
CHUNK_SIZE = 65536
# tid used | number
CHUNK = struct.Struct("<II Q")

FAILURES = (
    "the variable was not bound",
    "the object had no such attribute",
    "reading the attribute would have run code",
    "there was no such item",
    "the object was no list, tuple, dict or other built-in container",
    "the dictionary has other keys than strings, and too many to search",
)
"""Why a value could not be read, by number."""
TROUBLES = (
    "",
    "probes need CPython 3.12 or newer, or a JVM; step traces need CPython 3.12 or newer",
    "the agent could not parse the expression",
    "every tool id of sys.monitoring is in use",
    "more code objects than can be watched contain the line",
    "the JVM refused the class with the probe",
)
"""Why a probe does not work, by number."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAKE = 1


class Counts(NamedTuple):
    hits: int = 0
    sampled: int = 0
    lost: int = 0
    failures: tuple[int, ...] = (0,) * 8
    places: int = 0
    trouble: int = 0


class StepsState(NamedTuple):
    state: int
    trouble: int
    used: int
    began_ns: int
    ended_ns: int
    spans: int

    @property
    def over(self) -> bool:
        return self.state in (STEPS_FULL, STEPS_ENDED, STEPS_REFUSED)


class ProbeArea:
    def __init__(self, view: memoryview, at: int, size: int) -> None:
        self._view = view
        self._at = at
        self._room = size - SIZE

    def set_probe(
        self, number: int, serial: int, line: int, every: int, file: bytes, steps: bytes
    ) -> None:
        """Replaces what is there; the agent sees it at the next `changed`."""
        at = self._at + PROBES_AT + number * PROBE_SIZE
        self._view[at : at + PROBE_SIZE] = bytes(PROBE_SIZE)
        text = file + steps
        self._view[at + TEXT_AT : at + TEXT_AT + len(text)] = text
        PROBE.pack_into(self._view, at, serial, line, every, len(file), len(steps))

    def clear_probe(self, number: int) -> None:
        at = self._at + PROBES_AT + number * PROBE_SIZE
        PROBE.pack_into(self._view, at, 0, 0, 0, 0, 0)

    def counts(self, number: int) -> Counts:
        at = self._at + PROBES_AT + number * PROBE_SIZE + COUNTS_AT
        hits, sampled, lost, *rest = COUNTS.unpack_from(self._view, at)
        return Counts(hits, sampled, lost, tuple(rest[:8]), rest[8], rest[9])

    def changed(self) -> None:
        """Wakes the agent, if it sleeps."""
        orders, _ = self._words()
        struct.pack_into("<I", self._view, self._at + ORDERS_AT, (orders + 1) & 0xFFFFFFFF)
        number = _FUTEX.get(platform.machine())
        if number is None:  # it looks by itself, a little later
            return
        word = ctypes.c_uint32.from_buffer(self._view, self._at + ORDERS_AT)
        try:
            ctypes.CDLL(None).syscall(
                ctypes.c_long(number), ctypes.byref(word), _FUTEX_WAKE, 1, None, None, 0
            )
        finally:
            del word  # else the memory cannot be closed

    def applied(self) -> bool:
        """Has the agent done everything?"""
        orders, applied = self._words()
        return orders == applied

    def want_steps(self, span: bytes, duration_ns: int) -> None:
        """`span` empty: of all threads, for so long."""
        at = self._at + STEPS_AT
        self._view[at + SPAN_AT : at + SPAN_AT + len(span)] = span
        STEPS.pack_into(
            self._view, at, STEPS_WANTED, 0, 0, len(span), duration_ns, self._room, 0, 0, 0, 0
        )

    def steps(self) -> StepsState:
        state, trouble, _, _, _, _, used, began, ended, spans = STEPS.unpack_from(
            self._view, self._at + STEPS_AT
        )
        return StepsState(state, trouble, min(used, self._room), began, ended, spans)

    def steps_span(self) -> str:
        at = self._at + STEPS_AT
        length = min(STEPS.unpack_from(self._view, at)[3], MAX_SPAN)
        return bytes(self._view[at + SPAN_AT : at + SPAN_AT + length]).decode(errors="replace")

    def chunks(self) -> Iterator[tuple[int, int, bytes]]:
        """Of each its thread, its number among the thread's, and its words."""
        end = self._at + SIZE + self.steps().used
        for at in range(self._at + SIZE, end - CHUNK_SIZE + 1, CHUNK_SIZE):
            tid, used, number = CHUNK.unpack_from(self._view, at)
            used = min(used, CHUNK_SIZE - CHUNK.size) & ~1
            yield tid, number, bytes(self._view[at + CHUNK.size : at + CHUNK.size + used])

    def _words(self) -> tuple[int, int]:
        orders, applied = struct.unpack_from("<II", self._view, self._at)
        return orders, applied
