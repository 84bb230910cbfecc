"""Draining one thread's ring: records become samples of contexts."""

from __future__ import annotations

import struct
import time
from array import array
from typing import TYPE_CHECKING

from . import shm
from .agent_text import decode_text
from .contexts import CUT_OFF, NO_FRAMES, UNKNOWN
from .event_rows import EventRows
from .lock_records import LockRecords, UnknownTypeError
from .lock_runs import Line
from .online import OnlineThread
from .spans import UnknownSpanError
from .threads import OpenWait
from .weights import RUNNING, Place, ThreadTime
from .windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from .target import TargetProcess

# A frame whose code record has not come from its own thread's ring after this long never will.
PATIENCE_NS = 1_000_000_000
_REC = struct.Struct("<IHBB")
_FRAMES: list[struct.Struct] = [struct.Struct(f"<{n}Q") for n in range(64)]


class _BrokenStackError(Exception):
    """A stack record continues one that never came."""


class Slot:
    """One slot's thread, as the recorder knows it."""

    def __init__(self, process: TargetProcess, index: int, tid: int, claimed: int) -> None:
        self.process = process
        self.tid = tid
        self.claimed = claimed
        self.base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
        self.ring_at = process.agent.rings_at + index * process.agent.ring_size
        self.tail: int = shm.WORD.unpack_from(process.memory, self.base + shm.TAIL_AT)[0]
        self.stalled_since = 0
        self.line = Line()
        self._time: ThreadTime | None = None
        self._window = Window()
        self._events = EventRows(self)
        self.locks = LockRecords(self)
        online = process.contexts.online
        self._online = None if online is None else OnlineThread(online, process)

    @property
    def time(self) -> ThreadTime:
        """What this thread's records weigh; known to the process, because others may see it too."""
        if self._time is None:
            birth = shm.SLOT_FACTS.unpack_from(self.process.memory, self.base)[4]
            threads = self.process.threads
            self._time = threads.claimed(self.tid, self.claimed, birth or self.claimed)
        return self._time

    @property
    def known_time(self) -> ThreadTime | None:
        """The same, if any of its records was about the thread."""
        return self._time

    def renew(self, carried: Callable[[int], int]) -> None:
        """Its stack has another place in a new part."""
        self.line.put([carried(context) for context in self.line.contexts()])
        self.line.thread = -1
        self._window.renew(carried)

    def learn_name(self) -> None:
        """After the records, because one of them may be the name itself."""
        if self._time is not None and not self._time.thread_object:
            self._time.is_thread(self.thread_object(), self.claimed)

    def thread_object(self) -> int:
        address: int = shm.SLOT_FACTS.unpack_from(self.process.memory, self.base)[3]
        return address

    def backlog(self) -> int:
        head: int = shm.WORD.unpack_from(self.process.memory, self.base + shm.HEAD_AT)[0]
        return head - self.tail

    def drain(self) -> bool:
        """Takes every record that can be decoded by now; false if it waits for another ring."""
        process = self.process
        memory, mask, ring_at = process.memory, process.agent.ring_size - 1, self.ring_at
        head: int = shm.WORD.unpack_from(memory, self.base + shm.HEAD_AT)[0]
        tail = self.tail
        complete = True
        while tail < head:
            at = ring_at + (tail & mask)
            size, kind, state, flags = _REC.unpack_from(memory, at)
            if size < 8 or size & 7 or size > head - tail:
                # The target wrote over its own ring: nothing in it can be trusted any more.
                process.garbled += 1
                tail = head
                self._forget_stack()
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
                    self._object(at, flags)
                elif kind == shm.REC_CALL:
                    self._call(at, flags)
                elif kind == shm.REC_WINDOW:
                    self._window_ends(at, state)
                elif kind == shm.REC_EVENT:
                    self._events.event(at, state, flags)
                elif kind == shm.REC_DATA:
                    self._events.data(at, state)
            except (KeyError, UnknownSpanError) as missing:
                now = time.monotonic_ns()
                self.stalled_since = self.stalled_since or now
                if now - self.stalled_since < PATIENCE_NS and not process.ended:
                    complete = False
                    break
                if isinstance(missing, UnknownSpanError):
                    process.spans.given_up(missing.args[0])
                    continue
                if isinstance(missing, UnknownTypeError):
                    process.types[missing.args[0]] = ""
                else:
                    process.codes.add_native(missing.args[0], UNKNOWN)
                process.undescribed += 1
                continue
            except _BrokenStackError:
                self._undecodable(at, kind, state)
            self.stalled_since = 0
            tail += size
        self.learn_name()
        self.tail = tail
        shm.WORD.pack_into(memory, self.base + shm.TAIL_AT, tail)
        return complete

    def stack_of(
        self, at: int, keep: int, count: int, flags: int, header: int = shm.SAMPLE.size
    ) -> int:
        """The context of a stack record; leaves what the next one may refer to in self.line."""
        process = self.process
        line = self.line
        if flags & shm.UNDECODABLE:
            self._forget_stack()
            return -1
        frames = _FRAMES[count] if count < 64 else struct.Struct(f"<{count}Q")
        words = frames.unpack_from(process.memory, at + header)
        children = process.codes.children
        if keep > line.known:
            raise _BrokenStackError
        if self._online is not None and keep < self._online.unchanged:
            self._online.unchanged = keep
        depth = keep + count
        if depth > len(line.rows):
            line.make_room(depth)
        rows = line.rows
        if keep:
            context = rows[keep - 1]
        elif flags & shm.TRUNCATED:
            context = process.standing_for(CUT_OFF)
        else:
            context = -1
        is_aside = flags & shm.ASIDE
        if is_aside:
            line.aside = rows = array("i", bytes(4 * count))
        for place, word in enumerate(reversed(words), 0 if is_aside else keep):
            row = children.get((context, word))
            if row is None:
                row = process.codes.child(context, word)
            context = rows[place] = row
        line.depth = keep if is_aside else depth
        if not is_aside and (count or not keep):
            line.known = depth
        return context if depth else process.standing_for(NO_FRAMES)

    def _sample(self, at: int, state: int, flags: int) -> None:
        _, _, _, _, now, cpu, keep, count, interpreter, on, _, span, same = shm.SAMPLE.unpack_from(
            self.process.memory, at
        )
        if flags & shm.CHAINED:
            link, line = self.chain_of(at, count, flags, shm.SAMPLE.size)
            self.time.chained(now, cpu, interpreter, link, line, on - 1)
            return
        self.process.spans.check(span)
        if flags & shm.UNDECODABLE and state != RUNNING:
            self.process.undecodable_waits += 1
        place = Place(self.stack_of(at, keep, count, flags), interpreter, span)
        weight = self._weigh(now, cpu, place, state, on - 1)
        if self._online is not None:
            self._online.unchanged = min(self._online.unchanged, self.line.changed())
            rows = self.line.rows[: self.line.depth]
            if flags & shm.ASIDE:
                rows += self.line.aside
            self._online.sample(rows, flags, same, weight)
            self._online.unchanged = self.line.depth

    def _forget_stack(self) -> None:
        self.line.forget()
        if self._online is not None:
            self._online.unchanged = 0

    def chain_of(self, at: int, count: int, flags: int, header: int) -> tuple[int, int]:
        """The link of a chained record's function to its caller, and the function's line."""
        process = self.process
        words = struct.unpack_from(f"<{count}Q", process.memory, at + header)
        places = [process.codes.place(word) for word in words[::2]]  # before anything is written
        chains = process.contexts.chains
        nodes = [
            chains.node(function, depth)
            for (function, _), depth in zip(places, words[1::2], strict=True)
        ]
        link = -1
        for i in range(len(nodes) - 1, -1, -1):
            if i + 1 < len(nodes):
                link = chains.link(nodes[i], nodes[i + 1], places[i + 1][1])
            elif flags & shm.ROOT or len(nodes) == 1:
                link = chains.link(nodes[i], -1, 0)
        return link, places[0][1] if places else 0

    def _weigh(self, now: int, cpu: int, place: Place, state: int, processor: int) -> int:
        """The CPU time that it stands for."""
        if state == RUNNING:
            return self.time.running(now, cpu, place, processor)
        seen_from_outside = self.process.polls_waits
        self.time.waited(now, cpu, place, state, goes_on=seen_from_outside)
        self.process.threads.waits_no_more(self.tid)
        return 0

    def _code(self, at: int, kind: int) -> None:
        process = self.process
        memory = process.memory
        _, _, table_kind, _, code, first_line, name_len, file_len, table_len = shm.CODE.unpack_from(
            memory, at
        )
        at += shm.CODE.size
        name = decode_text(bytes(memory[at : at + name_len]))
        if kind == shm.REC_NATIVE:
            process.codes.add_native(code, name)
            return
        at += name_len
        file = decode_text(bytes(memory[at : at + file_len]))
        at += file_len
        table = bytes(memory[at : at + table_len])
        process.codes.add(code, name, file, first_line, table_kind, table)

    def _thread(self, at: int) -> None:
        _, _, _, _, address, _, name_len, low, high = shm.CODE.unpack_from(self.process.memory, at)
        at += shm.CODE.size
        name = decode_text(bytes(self.process.memory[at : at + name_len]))
        if address & shm.VIRTUAL:  # told with each event, and never changed
            self.process.threads.virtual_is(address, name)
        else:
            self.process.names.add(address, high << 32 | low, name)

    def _mark(self, at: int) -> None:
        process = self.process
        _, _, _, _, time_, duration, name_len, _ = shm.MARK.unpack_from(process.memory, at)
        at += shm.MARK.size
        name = decode_text(bytes(process.memory[at : at + name_len]))
        process.writer.append("marks", time_ - process.origin, -1, name, duration)

    def _note(self, at: int, type_: int) -> None:
        process = self.process
        _, _, _, _, now, span, parent, interpreter, length = shm.NOTE.unpack_from(
            process.memory, at
        )
        if type_ == shm.NOTE_END:
            process.spans.end(span, now)
            return
        at += shm.NOTE.size
        text = decode_text(bytes(process.memory[at : at + length]))
        if type_ == shm.NOTE_BEGIN:
            process.spans.begin(span, parent, self.time, interpreter, now, text)
        elif type_ == shm.NOTE_MARK:
            row = self.time.row(interpreter)
            process.writer.append("marks", now - process.origin, row, text)

    def _type(self, at: int) -> None:
        _, _, _, _, type_, _, name_len, _, _ = shm.CODE.unpack_from(self.process.memory, at)
        at += shm.CODE.size
        name = decode_text(bytes(self.process.memory[at : at + name_len]))
        self.process.types[type_] = name

    def _object(self, at: int, flags: int) -> None:
        process = self.process
        _, _, _, _, now, size, type_, every, keep, count = shm.OBJECT.unpack_from(
            process.memory, at
        )
        if type_ not in process.types:
            raise UnknownTypeError(type_)
        context = self.stack_of(at, keep, count, flags, shm.OBJECT.size)
        name = process.types[type_]
        row = process.contexts.type(name, process.runtime) if name else -1
        process.writer.append(
            "objects", self.time.row(0), now - process.origin, context, row, size, every
        )

    def _call(self, at: int, flags: int) -> None:
        _, _, step, _, number, site, keep, count, offset = shm.CALL.unpack_from(
            self.process.memory, at
        )
        context = self.stack_of(at, keep, count, flags, shm.CALL.size)
        site = self.process.codes.call_site(self._caller(keep, count, flags), site)
        self._window.add(number, context, site, -1 if offset == shm.NO_OFFSET else offset, step)

    def _caller(self, keep: int, count: int, flags: int) -> int:
        """The context that the last stack's innermost frame was called from."""
        if count > 1 and flags & shm.ASIDE:
            return self.line.aside[count - 2]
        depth = keep + count
        return self.line.rows[depth - 2] if depth > 1 and not flags & shm.UNDECODABLE else -1

    def _window_ends(self, at: int, how: int) -> None:
        process = self.process
        _, _, _, flags, began, duration, number, stride, interpreter, _ = shm.WINDOW.unpack_from(
            process.memory, at
        )
        self._window.write(
            process.writer, self.time.row(interpreter), began - process.origin, duration, number,
            stride, how, int(flags & shm.WINDOW_ALL != 0),
        )  # fmt: skip

    def _open_wait(self, at: int) -> None:
        _, _, _, flags, now, cpu, keep, count, interpreter, tid, thread_object, number, _ = (
            shm.SAMPLE.unpack_from(self.process.memory, at)
        )
        self.process.spans.check(number)
        place = Place(self.stack_of(at, keep, count, flags), interpreter, number)
        wait = OpenWait(now, cpu, place, thread_object)
        self.process.threads.still_waits(self.process.tids.ours(tid), wait)

    def _undecodable(self, at: int, kind: int, state: int) -> None:
        """A stack that continues one we lost: its time counts all the same."""
        _, _, _, _, now, cpu, _, _, interpreter, on, _, _, _ = shm.SAMPLE.unpack_from(
            self.process.memory, at
        )
        self.process.undescribed += 1
        if kind == shm.REC_SAMPLE:
            self.process.undecodable_waits += state != RUNNING
            weight = self._weigh(now, cpu, Place(-1, interpreter), state, on - 1)
            if self._online is not None:
                self._online.unknown(weight)

    def end(self) -> None:
        """No record comes any more."""
        self._events.let_go()
