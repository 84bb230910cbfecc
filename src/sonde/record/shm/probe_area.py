"""What follows the rings in the memory of a session with probes or step traces: the mirror of
native/core/session/probe_area.h."""

from __future__ import annotations

import ctypes
import platform
import struct
from typing import NamedTuple

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
    "this runtime has no probes; they need CPython 3.12 or newer, or a JVM",
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


class ProbeArea:
    def __init__(self, view: memoryview, at: int) -> None:
        self._view = view
        self._at = at

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

    def _words(self) -> tuple[int, int]:
        orders, applied = struct.unpack_from("<II", self._view, self._at)
        return orders, applied
