"""Waits for locks that have not ended: a new segment repeats them, a threshold may be on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..shm import layout as shm

if TYPE_CHECKING:
    from ..shm.lock_drain import LockRows
    from .lock_table import Locks
    from .segment import ProcessSegment
    from .spans import Spans
    from .threads import Threads


class LockEvent(NamedTuple):
    """As it was written, but by what lasts longer than a segment's rows."""

    tid: int
    """Or the number of a thread that the kernel does not know."""
    interpreter: int
    time: int
    lock: int
    kind: int
    class_: str
    """Of what is waited for, "" where it has none."""
    sequence: int
    type: int
    context: int
    span: int
    """The agent's number of it; 0: none."""
    task: int


class LockWait(NamedTuple):
    """A wait that is long, to be judged by whoever asked for such."""

    kind: int
    context: int
    began: int
    ns: int


class RingWaits(Protocol):
    """The waits of a thread that its ring reports, as the reader of the ring knows them."""

    def keep_wait(self) -> None:
        """The wait that a run left open is reported to who keeps them in mind."""

    def wait_changes(self) -> None:
        """Somebody else keeps its wait in mind, or none any more."""


class OpenLockWaits:
    """Of one process."""

    def __init__(
        self,
        segment: ProcessSegment,
        threads: Threads,
        locks: Locks,
        spans: Spans,
        lock_rows: LockRows,
    ) -> None:
        self._segment = segment
        self._threads = threads
        self._locks = locks
        self._spans = spans
        self._lock_rows = lock_rows
        self._waiting: dict[int, LockEvent] = {}
        self._holders: dict[tuple[int, int], LockEvent] = {}
        self.notable_ns: int | None = None
        """Waits of at least this length are reported to `on_long_wait`."""
        self.on_long_wait: Callable[[LockWait], None] | None = None
        self._reported: set[tuple[int, int]] = set()
        self._rings: dict[int, list[RingWaits]] = {}
        """By thread, which may have two."""

    def add_ring(self, tid: int, ring: RingWaits) -> None:
        self._rings.setdefault(tid, []).append(ring)

    def remove_ring(self, tid: int, ring: RingWaits) -> None:
        others = [other for other in self._rings.pop(tid) if other is not ring]
        if others:
            self._rings[tid] = others

    def clear_rings(self) -> None:
        self._rings.clear()

    def keep_wait(self, tid: int) -> None:
        """What a run left open of this thread's is kept in mind here."""
        for ring in self._rings.get(tid, ()):
            ring.keep_wait()

    def wait_changes(self, tid: int) -> None:
        for ring in self._rings.get(tid, ()):
            ring.wait_changes()

    def waits(self, event: LockEvent) -> None:
        self._waiting[event.tid] = event

    def holds(self, event: LockEvent) -> None:
        self._holders[event.lock, event.kind] = event

    def is_waiting(self, tid: int) -> bool:
        return tid in self._waiting

    def is_held(self, lock: int, kind: int) -> bool:
        """Is it known who holds it?"""
        return (lock, kind) in self._holders

    def released(self, lock: int, kind: int) -> None:
        if self._holders:
            self._holders.pop((lock, kind), None)

    def ended(self, tid: int, lock: int, kind: int, now: int) -> None:
        self.released(lock, kind)
        event = self._waiting.pop(tid, None)
        if event is not None and event.lock == lock:
            self.waited(tid, kind, event.context, event.time, now)

    def waited(self, tid: int, kind: int, context: int, began: int, now: int) -> None:
        """A wait is over."""
        known = (tid, began) in self._reported
        self._reported.discard((tid, began))
        if self.notable_ns is not None and now - began >= self.notable_ns and not known:
            self._report(LockWait(kind, context, began, now - began))

    def look(self, now: int) -> None:
        """Waits that go on: in a deadlock no record ends them."""
        if self.notable_ns is None:
            return
        for tid, event in self._waiting.items():
            key = (tid, event.time)
            if now - event.time >= self.notable_ns and key not in self._reported:
                self._reported.add(key)
                self._report(LockWait(event.kind, event.context, event.time, now - event.time))

    def _report(self, wait: LockWait) -> None:
        if self.on_long_wait is not None:
            self.on_long_wait(wait)

    def forget(self, tid: int) -> None:
        """A thread has ended, and with it its wait."""
        event = self._waiting.pop(tid, None)
        if event is not None:
            self._reported.discard((tid, event.time))

    def virtual(self) -> set[int]:
        """The threads in here that the kernel does not know."""
        events = (*self._waiting.values(), *self._holders.values())
        return {event.tid for event in events if event.tid & shm.VIRTUAL}

    def repeat(self, remap: Callable[[int], int]) -> None:
        """Writes who waits and who holds again, in a new segment; joined to the old it is known."""
        for key, event in self._waiting.items():
            self._waiting[key] = self._again(event, remap)
        waited_for = {(event.lock, event.kind) for event in self._waiting.values()}
        for lock in [lock for lock in self._holders if lock not in waited_for]:
            del self._holders[lock]
        for lock, event in self._holders.items():
            self._holders[lock] = self._again(event, remap)

    def _again(self, event: LockEvent, remap: Callable[[int], int]) -> LockEvent:
        event = event._replace(context=remap(event.context))
        if event.tid & shm.VIRTUAL:
            row = self._threads.virtual_row(event.tid, event.time)
        else:
            row = self._threads.time_of(event.tid, event.time, event.time).row(event.interpreter)
        self._lock_rows.append(
            row,
            event.time - self._segment.origin,
            self._locks.row(event.lock, event.kind, event.class_),
            event.sequence,
            event.type,
            event.context,
            self._spans.row(event.span),
            event.task,
        )
        return event
