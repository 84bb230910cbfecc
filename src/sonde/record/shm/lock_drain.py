"""Runs of lock events, which native/drain takes out of the rings: its mirror.

It takes what is common and all known; the rest comes to lock_records.py, record by record, which
reports what it has learned.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from typing import TYPE_CHECKING

from sonde.recording.format.schema import TIME_LIMIT

from ..system import native_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sonde.recording.write.writer import Writer

HAS_TYPE, HAS_HOLDER = 2, 4
NO_WAIT, WAITS_HERE, WAIT_IS_KEPT = 0, 1, 2

NEVER_NOTABLE = 2**64 - 1
_COLUMNS = 8
_MAX_VALUE = 2**63 - 1
_ROOM = 64
_UNCHANGED = 2**32 - 1


class _Map(ctypes.Structure):
    _fields_ = (
        ("entries", ctypes.c_void_p),
        ("room", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
    )


class _Known(ctypes.Structure):
    _fields_ = (
        ("origin", ctypes.c_uint64),
        ("notable_ns", ctypes.c_uint64),
        ("spans", ctypes.c_uint64),
        ("frames", _Map),
        ("locks", _Map),
        ("rows", ctypes.c_void_p),
    )


class OpenLockWait(ctypes.Structure):
    """A wait whose end has not come yet."""

    _fields_ = (
        ("time", ctypes.c_uint64),
        ("lock", ctypes.c_uint64),
        ("sequence", ctypes.c_uint64),
        ("type", ctypes.c_uint64),
        ("context", ctypes.c_int32),
        ("span", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("open", ctypes.c_uint32),
    )


class ThreadStack(ctypes.Structure):
    """What is known of a thread: its stack, shared by who decodes it, and its last wait."""

    _fields_ = (
        ("stack", ctypes.c_void_p),
        ("depth", ctypes.c_uint32),
        ("room", ctypes.c_uint32),
        ("unchanged", ctypes.c_uint32),
        ("interpreter", ctypes.c_uint32),
        ("thread", ctypes.c_int32),
        ("span", ctypes.c_uint32),
        ("span_row", ctypes.c_int32),
        ("known", ctypes.c_uint32),
        ("spans", ctypes.c_uint64),
        ("task", ctypes.c_uint64),
        ("wait", OpenLockWait),
    )
    depth: int
    known: int
    interpreter: int
    thread: int
    unchanged: int
    task: int

    def __init__(self) -> None:
        super().__init__(thread=-1, unchanged=_UNCHANGED)
        self.rows = array("i")
        """The contexts of what was reported last, outermost first, as far as `known`; of the last
        record's stack as far as `depth`, but for frames that were set aside."""
        self.aside = array("i")
        """The contexts of those."""
        self.make_room(_ROOM)

    def make_room(self, depth: int) -> None:
        self.rows.extend(bytes(2 * max(depth - len(self.rows), 0)))
        self.stack, self.room = self.rows.buffer_info()

    def contexts(self) -> Sequence[int]:
        return self.rows[: self.known]

    def put(self, contexts: Sequence[int]) -> None:
        """The same in another segment."""
        self.rows[: self.known] = array("i", contexts)

    def forget(self) -> None:
        self.depth = self.known = 0

    def changed(self) -> int:
        """How many of the outermost contexts no run has changed since this was last asked."""
        unchanged, self.unchanged = self.unchanged, _UNCHANGED
        return unchanged


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_libraries.drain()))
    known, word = ctypes.POINTER(_Known), ctypes.c_uint64
    library.sonde_rows_new.restype = ctypes.c_void_p
    library.sonde_rows_free.argtypes = [ctypes.c_void_p]
    library.sonde_rows_append.argtypes = [ctypes.c_void_p, *[ctypes.c_int64] * _COLUMNS]
    library.sonde_rows_next.restype = ctypes.c_size_t
    library.sonde_rows_next.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_size_t),
    ]  # fmt: skip
    library.sonde_tables_forget.argtypes = [known]
    library.sonde_tables_add_frame.argtypes = [known, ctypes.c_int32, word, ctypes.c_int32]
    library.sonde_tables_add_lock.argtypes = [known, word, word, ctypes.c_int32, ctypes.c_uint32]
    library.sonde_drain_locks.restype = word
    library.sonde_drain_locks.argtypes = [
        known, ctypes.POINTER(ThreadStack), ctypes.c_void_p, word, word, word,
    ]  # fmt: skip
    return library


class LockRows:
    """The rows of lock events that wait for the next flush of `writer`, of all processes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._library = _library()
        self.address = self._library.sonde_rows_new()
        if not self.address:
            raise MemoryError
        self._out = ctypes.create_string_buffer(0)
        writer.take_from("lock_events", self._packed)

    def __del__(self) -> None:
        self._library.sonde_rows_free(self.address)

    def append(
        self,
        thread: int,
        time: int,
        lock: int,
        sequence: int,
        type_: int,
        context: int,
        span: int,
        task: int = 0,
    ) -> None:
        row = (thread, time, lock, sequence, type_, context, span, task)
        if -TIME_LIMIT < time < TIME_LIMIT and sequence <= _MAX_VALUE:
            if not self._library.sonde_rows_append(self.address, *row):
                raise MemoryError
        else:  # what cannot be meant is refused, and counted, there
            self._writer.append("lock_events", *row)

    def _packed(self, most: int) -> Iterator[tuple[int, bytes]]:
        room = _COLUMNS * (21 + 8 * most)
        if len(self._out) < room:
            self._out = ctypes.create_string_buffer(room)
        count = ctypes.c_size_t()
        while True:
            size = self._library.sonde_rows_next(
                self.address, most, self._out, room, ctypes.byref(count)
            )
            if not count.value:
                return
            yield count.value, self._out.raw[:size]


class LockRuns:
    """Of one process."""

    def __init__(self, rows: LockRows, memory: memoryview, ring_size: int) -> None:
        self._library = _library()
        self._known = _Known(notable_ns=NEVER_NOTABLE, rows=rows.address)
        self._rows = rows  # as long as we
        self._ring_size = ring_size
        self._memory = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def __del__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Rows are others in a new segment."""
        self._library.sonde_tables_forget(self._known)

    def spans_change(self) -> None:
        """A span has another row, or none any more."""
        self._known.spans += 1

    def take(
        self,
        line: ThreadStack,
        ring_at: int,
        tail: int,
        head: int,
        origin: int,
        notable_ns: int | None,
    ) -> int:
        """Takes what it can of a ring; returns the new tail."""
        known = self._known
        known.origin = origin
        known.notable_ns = NEVER_NOTABLE if notable_ns is None else max(notable_ns, 0)
        return int(
            self._library.sonde_drain_locks(
                known, line, self._memory + ring_at, self._ring_size, tail, head
            )
        )

    def learn_stack(self, caller: int, words: Sequence[int], rows: Sequence[int]) -> None:
        """The frames `words`, outermost first, lead from the context `caller` to `rows`."""
        for word, row in zip(words, rows, strict=True):
            self._library.sonde_tables_add_frame(self._known, caller, word, row)
            caller = row

    def learn_lock(self, lock: int, kind: int, row: int, typed: bool, held: bool) -> None:
        flags = (HAS_TYPE if typed else 0) | (HAS_HOLDER if held else 0)
        self._library.sonde_tables_add_lock(self._known, lock, kind, row, flags)

    def learn_span(self, line: ThreadStack, number: int, row: int) -> None:
        line.span, line.span_row, line.spans = number, row, self._known.spans
