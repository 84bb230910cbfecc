"""Lock events of one thread on their way into the recording."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from sonde.row_values import OWNER_OBSERVED, PREEXISTING, WAIT_BEGIN

from ..shm import layout as shm
from ..shm.lock_drain import NO_WAIT, WAIT_IS_KEPT, WAITS_HERE
from ..tables.open_lock_waits import LockEvent

if TYPE_CHECKING:
    from .process_tables import ProcessTables
    from .ring_thread import RingThread
    from .stacks import StackDecoder

_WITHOUT_STACK = (shm.LOCK_ACQUIRED, shm.LOCK_GAVE_UP)


class UnknownTypeError(KeyError):
    """A record speaks of a type whose name has not come yet."""


class LockRecords:
    def __init__(
        self, tables: ProcessTables, thread: RingThread, stacks: StackDecoder, ring_at: int
    ) -> None:
        self._tables = tables
        self._thread = thread
        self._stacks = stacks
        self._line = stacks.line
        self._ring_at = ring_at
        self.wait_changes()

    def run(self, tail: int, head: int) -> int:
        """Takes as many as all is known of; returns the new tail."""
        tables = self._tables
        origin, notable_ns = tables.segment.origin, tables.open_locks.notable_ns
        return tables.lock_runs.take(self._line, self._ring_at, tail, head, origin, notable_ns)

    def keep_wait(self) -> None:
        """The wait that a run left open is passed to who keeps them in mind."""
        tables, line = self._tables, self._line
        wait = line.wait
        if wait.open == WAITS_HERE:
            wait.open = WAIT_IS_KEPT
            event = LockEvent(
                self._thread.tid, line.interpreter, wait.time, wait.lock, wait.kind,
                tables.types.get(wait.type, ""), wait.sequence, WAIT_BEGIN, wait.context, wait.span,
                line.task,
            )  # fmt: skip
            tables.open_locks.waits(event)

    def wait_changes(self) -> None:
        """Somebody else keeps its wait in mind, or none any more."""
        waits = self._tables.open_locks.is_waiting(self._thread.tid)
        self._line.wait.open = WAIT_IS_KEPT if waits else NO_WAIT

    def record(self, at: int, type_: int, flags: int) -> None:
        """Takes one of which not everything was known."""
        tables, line = self._tables, self._line
        (_, _, _, _, now, lock, sequence, started, started_sequence, keep, count, interp, kind, _,
         holder, number, _) = shm.LOCK.unpack_from(tables.memory, at)  # fmt: skip
        tables.spans.check(number)
        of_type = started if type_ == shm.LOCK_WAIT_BEGIN else 0
        if of_type not in tables.types:  # before the stack, which is taken once only
            raise UnknownTypeError(of_type)
        has_stack = type_ not in _WITHOUT_STACK
        if has_stack:
            context = self._stacks.stack_of(at, keep, count, flags, shm.LOCK.size)
        else:
            context, interp = -1, line.interpreter
        self.keep_wait()
        class_ = tables.types[of_type]
        lock_row = tables.locks.row(lock, kind, class_)
        append, open_locks = tables.lock_rows.append, tables.open_locks
        origin = tables.segment.origin
        span = tables.spans.row(number)
        whose = holder if holder & shm.VIRTUAL else self._thread.tid
        line.interpreter, line.thread = interp, -1
        task = line.task
        if type_ == shm.LOCK_OWNER_OBSERVED or type_ == shm.LOCK_PREEXISTING:
            if type_ == shm.LOCK_PREEXISTING:
                # since the recording's beginning, as far as it is its own
                now = origin
            if holder & shm.VIRTUAL:
                row = tables.threads.virtual_row(holder, now)
            else:
                whose = tables.tids.ours(holder)
                time_ = tables.threads.time_of(whose, now)
                time_.set_thread_object(started, now)
                row = time_.row(interp)
            task = 0  # that thread's, which it is not known to run
            found = WAIT_BEGIN if started_sequence else PREEXISTING
            type_ = OWNER_OBSERVED if type_ == shm.LOCK_OWNER_OBSERVED else found
            event = LockEvent(
                whose, interp, now, lock, kind, class_, sequence, type_, context, number, 0
            )
            if type_ == OWNER_OBSERVED:
                open_locks.holds(event)
            else:
                open_locks.keep_wait(whose)
                open_locks.waits(event)
                open_locks.wait_changes(whose)
        else:
            if holder & shm.VIRTUAL:
                row = tables.threads.virtual_row(holder, now)
            else:
                row = line.thread = self._thread.time.row(interp)
            if type_ == shm.LOCK_WAITED:
                append(
                    row,
                    started - origin,
                    lock_row,
                    started_sequence,
                    WAIT_BEGIN,
                    context,
                    span,
                    task,
                )
                open_locks.waited(whose, kind, context, started, now)
                type_, context = shm.LOCK_ACQUIRED, -1
            elif type_ == shm.LOCK_WAIT_BEGIN:
                open_locks.waits(
                    LockEvent(
                        whose,
                        interp,
                        now,
                        lock,
                        kind,
                        class_,
                        sequence,
                        type_,
                        context,
                        number,
                        task,
                    )
                )
            elif type_ == shm.LOCK_RELEASED:
                open_locks.released(lock, kind)
            else:
                open_locks.ended(whose, lock, kind, now)
            self.wait_changes()
        append(row, now - origin, lock_row, sequence, type_, context, span, task)
        if has_stack and not flags & (shm.UNDECODABLE | shm.TRUNCATED):
            words = struct.unpack_from(f"<{count}Q", tables.memory, at + shm.LOCK.size)
            rows = line.aside if flags & shm.DETACHED else line.rows[keep : keep + count]
            tables.lock_runs.learn_stack(line.rows[keep - 1] if keep else -1, words[::-1], rows)
        tables.lock_runs.learn_lock(
            lock, kind, lock_row, tables.locks.has_type(lock, kind), open_locks.is_held(lock, kind)
        )
        tables.lock_runs.learn_span(line, number, span)
