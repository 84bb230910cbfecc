"""Draining one thread's ring: records become samples of contexts."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

from sonde.row_values import RUNNING

from ..shm import flow_layout
from ..shm import layout as shm
from ..tables.probe_values import ProbeValue
from ..tables.sampled_objects import SampledObject
from ..tables.spans import UnknownSpanError
from ..tables.stacks.contexts import UNKNOWN
from ..tables.thread_time import SampleContext
from ..tables.threads import OpenLockWait
from .agent_text import decode_text
from .call_windows import Window
from .event_records import EventRows
from .lock_records import LockRecords, UnknownTypeError
from .lock_samples import LockSampleRecords
from .ring_thread import RingThread
from .stacks import BrokenStackError, StackDecoder
from .task_records import TaskRecords

if TYPE_CHECKING:
    from collections.abc import Callable

    from .process_tables import ProcessTables

# A frame whose code record has not come from its own thread's ring after this long never will.
TIMEOUT_NS = 1_000_000_000
_REC = struct.Struct("<IHBB")


class RingReader:
    """One slot's ring, and how far it has been read."""

    def __init__(self, tables: ProcessTables, index: int, tid: int, claimed: int) -> None:
        self._tables = tables
        self.base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
        self.ring_at = tables.rings_at + index * tables.ring_size
        self.tail: int = shm.WORD.unpack_from(tables.memory, self.base + shm.TAIL_AT)[0]
        self.stalled_since = 0
        self.thread = RingThread(tables, self.base, tid, claimed)
        self._stacks = StackDecoder(tables)
        self._window = Window()
        self._events = EventRows(tables, self.thread, self._stacks)
        self._tasks = TaskRecords(tables, self.thread, self._stacks)
        self.lock_samples = LockSampleRecords(tables, self.thread, self._stacks)
        self.locks = LockRecords(tables, self.thread, self._stacks, self.ring_at)

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """Its stack has another place in a new segment."""
        self._stacks.start_segment(remap)
        self._tasks.start_segment()
        self._window.start_segment(remap)

    def backlog(self) -> int:
        head: int = shm.WORD.unpack_from(self._tables.memory, self.base + shm.HEAD_AT)[0]
        return head - self.tail

    def drain(self) -> bool:
        """Takes every record that can be decoded by now; false if it waits for another ring."""
        tables = self._tables
        memory, mask, ring_at = tables.memory, tables.ring_size - 1, self.ring_at
        head: int = shm.WORD.unpack_from(memory, self.base + shm.HEAD_AT)[0]
        tail = self.tail
        complete = True
        while tail < head:
            at = ring_at + (tail & mask)
            size, kind, state, flags = _REC.unpack_from(memory, at)
            if size < 8 or size & 7 or size > head - tail:
                # The target wrote over its own ring: nothing in it can be trusted any more.
                tables.garbled += 1
                tail = head
                self._stacks.forget()
                break
            try:
                if kind == shm.REC_SAMPLE:
                    self._sample(at, state, flags)
                elif kind == shm.REC_CODE or kind == shm.REC_NATIVE:
                    self._code(at, kind)
                elif kind == shm.REC_LOCK:
                    done = self.locks.run(tail, head)
                    if done > tail:
                        self.stalled_since = 0
                        tail = done
                        continue
                    self.locks.record(at, state, flags)
                elif kind == shm.REC_OPEN_WAIT:
                    self._open_wait(at)
                elif kind == shm.REC_THREAD:
                    self._thread(at)
                elif kind == shm.REC_MARK:
                    self._mark(at)
                elif kind == shm.REC_NOTE:
                    self._note(at, state)
                elif kind == shm.REC_TYPE:
                    self._type(at)
                elif kind == shm.REC_OBJECT:
                    self._object(at, state, flags)
                elif kind == shm.REC_OBJECT_TYPE:
                    self._object_type(at, state)
                elif kind == shm.REC_OBJECT_SHARE:
                    tables.objects.set_share(*shm.OBJECT_SHARE.unpack_from(memory, at)[4:])
                elif kind == shm.REC_OBJECT_END:
                    _, _, _, _, now, number = shm.OBJECT_END.unpack_from(memory, at)
                    tables.objects.end(number, now)
                elif kind == shm.REC_PROBE:
                    self._probe(at, state, flags)
                elif kind == shm.REC_LOCK_SAMPLE:
                    self.lock_samples.sample(at, state, flags)
                elif kind == shm.REC_LOCK_HOLD_END:
                    self.lock_samples.hold_end(at)
                elif kind == shm.REC_CALL:
                    self._call(at, flags)
                elif kind == shm.REC_WINDOW:
                    self._window_ends(at, state)
                elif kind == shm.REC_FLOW:
                    self._flow(at, size)
                elif kind == shm.REC_EVENT:
                    self._events.event(at, state, flags)
                elif kind == shm.REC_DATA:
                    self._events.data(at, state)
                elif shm.REC_TASK <= kind <= shm.REC_TASK_AWAITER:
                    self._tasks.record(at, kind, state, flags, size)
            except (KeyError, UnknownSpanError) as missing:
                now = time.monotonic_ns()
                self.stalled_since = self.stalled_since or now
                if now - self.stalled_since < TIMEOUT_NS and not tables.ended:
                    complete = False
                    break
                if isinstance(missing, UnknownSpanError):
                    tables.spans.given_up(missing.args[0])
                    continue
                if isinstance(missing, UnknownTypeError):
                    tables.types[missing.args[0]] = ""
                else:
                    tables.codes.add_native(missing.args[0], UNKNOWN)
                tables.undescribed += 1
                continue
            except BrokenStackError:
                self._undecodable(at, kind, state)
            self.stalled_since = 0
            tail += size
        self.thread.learn_name()
        self.tail = tail
        shm.WORD.pack_into(memory, self.base + shm.TAIL_AT, tail)
        return complete

    def _sample(self, at: int, state: int, flags: int) -> None:
        _, _, _, _, now, cpu, keep, count, interpreter, on, _, span, same = shm.SAMPLE.unpack_from(
            self._tables.memory, at
        )
        if flags & shm.CHAINED:
            link, line = self._stacks.chain_of(at, count, flags, shm.SAMPLE.size)
            self.thread.time.chained(now, cpu, interpreter, link, line, on - 1)
            return
        self._tables.spans.check(span)
        if flags & shm.UNDECODABLE and state != RUNNING:
            self._tables.undecodable_waits += 1
        place = SampleContext(
            self._stacks.stack_of(at, keep, count, flags), interpreter, span, self._tasks.current
        )
        weight = self._weigh(now, cpu, place, state, on - 1)
        self._stacks.sampled(flags, same, weight)

    def _weigh(self, now: int, cpu: int, place: SampleContext, state: int, processor: int) -> int:
        """The CPU time that it stands for."""
        if state == RUNNING:
            return self.thread.time.running(now, cpu, place, processor)
        seen_from_outside = self._tables.sampling.polls_waits
        self.thread.time.waited(now, cpu, place, state, goes_on=seen_from_outside)
        self._tables.threads.clear_open_wait(self.thread.tid)
        return 0

    def _code(self, at: int, kind: int) -> None:
        tables = self._tables
        memory = tables.memory
        _, _, table_kind, _, code, first_line, name_len, file_len, table_len = shm.CODE.unpack_from(
            memory, at
        )
        at += shm.CODE.size
        name = decode_text(bytes(memory[at : at + name_len]))
        if kind == shm.REC_NATIVE:
            tables.codes.add_native(code, name)
            return
        at += name_len
        file = decode_text(bytes(memory[at : at + file_len]))
        at += file_len
        table = bytes(memory[at : at + table_len])
        tables.codes.add(code, name, file, first_line, table_kind, table)

    def _thread(self, at: int) -> None:
        _, _, _, _, address, _, name_len, low, high = shm.CODE.unpack_from(self._tables.memory, at)
        at += shm.CODE.size
        name = decode_text(bytes(self._tables.memory[at : at + name_len]))
        if address & shm.VIRTUAL:  # reported with each event, and never changed
            self._tables.threads.virtual_is(address, name)
        else:
            self._tables.names.add(address, high << 32 | low, name)

    def _mark(self, at: int) -> None:
        tables = self._tables
        _, _, _, _, time_, duration, name_len, _ = shm.MARK.unpack_from(tables.memory, at)
        at += shm.MARK.size
        name = decode_text(bytes(tables.memory[at : at + name_len]))
        tables.segment.writer.append("marks", time_ - tables.segment.origin, -1, name, duration)

    def _note(self, at: int, type_: int) -> None:
        tables = self._tables
        _, _, _, _, now, span, parent, interpreter, length = shm.NOTE.unpack_from(tables.memory, at)
        if type_ == shm.NOTE_END:
            tables.spans.check(span)  # a virtual thread of Java may have begun it on another one
            tables.spans.end(span, now)
            return
        at += shm.NOTE.size
        text = decode_text(bytes(tables.memory[at : at + length]))
        if type_ == shm.NOTE_BEGIN:
            tables.spans.check(parent)  # it may be another thread's
            tables.spans.begin(
                span, parent, self.thread.time, interpreter, now, text, self._tasks.current
            )
        elif type_ == shm.NOTE_ATTRIBUTE:
            tables.spans.check(span)
            tables.spans.set(span, *text.partition("=")[::2])
        elif type_ == shm.NOTE_MARK:
            row = self.thread.time.row(interpreter)
            tables.segment.writer.append("marks", now - tables.segment.origin, row, text)

    def _type(self, at: int) -> None:
        _, _, _, _, type_, _, name_len, _, _ = shm.CODE.unpack_from(self._tables.memory, at)
        at += shm.CODE.size
        name = decode_text(bytes(self._tables.memory[at : at + name_len]))
        self._tables.types[type_] = name

    def _object(self, at: int, which: int, flags: int) -> None:
        tables = self._tables
        _, _, _, _, now, size, type_, every, number, address, keep, count = shm.OBJECT.unpack_from(
            tables.memory, at
        )
        if type_ not in tables.types:
            raise UnknownTypeError(type_)
        context = self._stacks.stack_of(at, keep, count, flags, shm.OBJECT.size)
        sampled = SampledObject(
            self.thread.time, now, context, tables.types[type_], size, every, address, which,
            number, flags & shm.OBJECT_IN_WINDOW != 0,
        )  # fmt: skip
        if flags & shm.OBJECT_TYPE_FOLLOWS:
            tables.objects.await_type(sampled)
        else:
            tables.objects.add(sampled)

    def _object_type(self, at: int, which: int) -> None:
        tables = self._tables
        _, _, _, _, number, type_, address = shm.OBJECT_TYPE.unpack_from(tables.memory, at)
        if type_ not in tables.types:
            raise UnknownTypeError(type_)
        tables.objects.set_type(number, tables.types[type_], address, which)

    def _probe(self, at: int, kind: int, flags: int) -> None:
        tables = self._tables
        (
            _, _, _, _, now, type_, number, probe, span, interpreter, length, text, keep, count,
        ) = shm.PROBE.unpack_from(tables.memory, at)  # fmt: skip
        if type_ not in tables.types:
            raise UnknownTypeError(type_)
        tables.spans.check(span)
        context = self._stacks.stack_of(at, keep, count, flags, shm.PROBE.size)
        value = ProbeValue(
            self.thread.time, interpreter, now, context, tables.spans.row(span), kind,
            tables.types[type_], number, decode_text(text[:length]),
        )  # fmt: skip
        tables.probes.value(probe, value)

    def _call(self, at: int, flags: int) -> None:
        _, _, step, _, number, site, keep, count, offset = shm.CALL.unpack_from(
            self._tables.memory, at
        )
        context = self._stacks.stack_of(at, keep, count, flags, shm.CALL.size)
        site = self._tables.codes.call_site(self._stacks.caller(keep, count, flags), site)
        self._window.add(number, context, site, -1 if offset == shm.NO_OFFSET else offset, step)

    def _window_ends(self, at: int, how: int) -> None:
        tables = self._tables
        _, _, _, flags, began, duration, number, stride, interpreter, _ = shm.WINDOW.unpack_from(
            tables.memory, at
        )
        self._window.write(
            tables.segment.writer, self.thread.time.row(interpreter),
            began - tables.segment.origin, duration, number, stride, how,
            int(flags & shm.WINDOW_ALL != 0),
        )  # fmt: skip

    def _flow(self, at: int, size: int) -> None:
        tables = self._tables
        *_, root, count = flow_layout.RECORD.unpack_from(tables.memory, at)
        if not count:
            tables.flow.thread_begins(root, self.thread.time)
            return
        begin = at + flow_layout.RECORD.size
        length = min(count * flow_layout.EVENT.size, size - flow_layout.RECORD.size)
        tables.flow.add_events(root, tables.memory[begin : begin + length])

    def _open_wait(self, at: int) -> None:
        _, _, _, flags, now, cpu, keep, count, interpreter, tid, thread_object, number, _ = (
            shm.SAMPLE.unpack_from(self._tables.memory, at)
        )
        self._tables.spans.check(number)
        place = SampleContext(self._stacks.stack_of(at, keep, count, flags), interpreter, number)
        wait = OpenLockWait(now, cpu, place, thread_object)
        self._tables.threads.set_open_wait(self._tables.tids.ours(tid), wait)

    def _undecodable(self, at: int, kind: int, state: int) -> None:
        """A stack that continues one we lost: its time counts all the same."""
        _, _, _, _, now, cpu, _, _, interpreter, on, _, _, _ = shm.SAMPLE.unpack_from(
            self._tables.memory, at
        )
        self._tables.undescribed += 1
        if kind == shm.REC_SAMPLE:
            self._tables.undecodable_waits += state != RUNNING
            weight = self._weigh(now, cpu, SampleContext(-1, interpreter), state, on - 1)
            self._stacks.unknown(weight)

    def end(self) -> None:
        """No record comes any more."""
        self._events.flush()
