"""Sampled acquisitions of locks in one thread's ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm import layout as shm
from ..tables.lock_samples import LockSample

if TYPE_CHECKING:
    from .process_tables import ProcessTables
    from .ring_thread import RingThread
    from .stacks import StackDecoder


class LockSampleRecords:
    def __init__(self, tables: ProcessTables, thread: RingThread, stacks: StackDecoder) -> None:
        self._tables = tables
        self._thread = thread
        self._stacks = stacks
        self._reported = 0
        """Acquisitions that were written although no sample had reported them."""

    def sample(self, at: int, state: int, flags: int) -> None:
        tables = self._tables
        (_, _, _, _, now, lock, hold, wait_ns, every, counted, keep, count, interpreter, kind, _,
         span, _, type_, spin_ns) = shm.LOCK_SAMPLE.unpack_from(tables.memory, at)  # fmt: skip
        tables.spans.check(span)
        context = self._stacks.stack_of(at, keep, count, flags, shm.LOCK_SAMPLE.size)
        new = max(counted - self._reported, 0)
        self._reported = 0
        sample = LockSample(
            self._thread.time, interpreter, now, lock, kind, context, every, new, state, wait_ns,
            -1 if spin_ns == shm.NO_SPIN else spin_ns, span, tables.types.get(type_, ""),
        )  # fmt: skip
        tables.lock_samples.add(sample, hold)

    def hold_end(self, at: int) -> None:
        _, _, _, _, hold, hold_ns = shm.LOCK_HOLD_END.unpack_from(self._tables.memory, at)
        self._tables.lock_samples.end(hold, hold_ns)

    def count_rest(self, acquisitions: int, now: int) -> None:
        """Writes what the thread acquired since its last sample, `acquisitions` times."""
        new = acquisitions - self._reported
        if new > 0:
            self._tables.lock_samples.counted(self._thread.time, now, new)
            self._reported = acquisitions
