"""Draining one thread's ring: records become samples of a context with a weight.

Weights are made here, from the clocks each record carries, because only the recorder knows where a
thread stood when it was armed. A running sample weighs the CPU time since the last one, a wait the
time off the CPU since the last one: together they are the thread's life.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

from . import shm
from .contexts import CUT_OFF, NO_FRAMES, UNKNOWN

if TYPE_CHECKING:
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
        self.ring_at = process.rings_at + index * process.ring_size
        self.tail: int = shm.WORD.unpack_from(process.memory, self.base + shm.TAIL_AT)[0]
        self.stack: list[int] = []
        self.rows: dict[int, int] = {}
        self.stalled_since = 0
        self.last_time = claimed
        start, cpu = process.baseline_of(tid)
        self.born = start
        self.cpu_born = self.cpu_done = self.last_cpu = cpu
        self.off_done = 0

    def skip_to(self, now: int, cpu: int) -> None:
        """Leaves out the time since the last record."""
        self.born += now - self.last_time
        self.cpu_born += cpu - self.last_cpu
        self.last_time, self.last_cpu, self.cpu_done = now, cpu, cpu

    def backlog(self) -> int:
        head: int = shm.WORD.unpack_from(self.process.memory, self.base + shm.HEAD_AT)[0]
        return head - self.tail

    def drain(self) -> bool:
        """Takes every record that can be decoded by now; false if it waits for another ring."""
        process = self.process
        memory, mask, ring_at = process.memory, process.ring_size - 1, self.ring_at
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
                self.stack.clear()
                break
            try:
                if kind == shm.REC_SAMPLE:
                    self._sample(at, state, flags)
                elif kind == shm.REC_CODE or kind == shm.REC_NATIVE:
                    self._code(at, kind)
                elif kind == shm.REC_OPEN_WAIT:
                    self._open_wait(at)
                elif kind == shm.REC_THREAD:
                    self._thread(at)
            except KeyError as missing:
                now = time.monotonic_ns()
                self.stalled_since = self.stalled_since or now
                if now - self.stalled_since < PATIENCE_NS and not process.ended:
                    complete = False
                    break
                process.codes.add_native(missing.args[0], UNKNOWN)
                process.undescribed += 1
                continue
            except _BrokenStackError:
                self._undecodable(at, kind, state)
            self.stalled_since = 0
            tail += size
        self.tail = tail
        shm.WORD.pack_into(memory, self.base + shm.TAIL_AT, tail)
        return complete

    def _stack_of(self, at: int, keep: int, count: int, flags: int) -> int:
        """The context of a stack record; leaves self.stack as the record's full stack."""
        process = self.process
        stack = self.stack
        if flags & shm.UNDECODABLE:
            stack.clear()
            return -1
        frames = _FRAMES[count] if count < 64 else struct.Struct(f"<{count}Q")
        words = frames.unpack_from(process.memory, at + shm.SAMPLE.size)
        children = process.codes.children
        if keep > len(stack):
            raise _BrokenStackError
        new = stack[:keep]
        if new:
            context = new[-1]
        elif flags & shm.TRUNCATED:
            context = process.contexts.standing_for(CUT_OFF)
        else:
            context = -1
        for word in reversed(words):
            row = children.get((context, word))
            if row is None:
                row = process.codes.child(context, word, shm.INSTR_BITS, shm.INSTR_MASK)
            context = row
            new.append(row)
        self.stack = new
        return context if new else process.contexts.standing_for(NO_FRAMES)

    def _sample(self, at: int, state: int, flags: int) -> None:
        _, _, _, _, now, cpu, keep, count, interpreter, _ = shm.SAMPLE.unpack_from(
            self.process.memory, at
        )
        context = self._stack_of(at, keep, count, flags)
        self._weigh(now, cpu, context, state, interpreter)

    def _weigh(self, now: int, cpu: int, context: int, state: int, interpreter: int) -> None:
        process = self.process
        row = self.rows.get(interpreter)
        if row is None:
            row = self.rows[interpreter] = process.thread_row(self, interpreter)
        self.last_time = now
        self.last_cpu = cpu
        if state == 0:
            weight = max(cpu - self.cpu_done, 0)
            self.cpu_done = cpu
            process.cpu_sampled += weight
            process.running += 1
        else:
            off = (now - self.born) - (cpu - self.cpu_born)
            weight = off - self.off_done
            if weight <= 0:
                return
            self.off_done = off
            process.open_waits.pop(self.tid, None)
        process.writer.append("samples", row, now - process.origin, context, weight, state)

    def finish_wait(self, until: int, context: int, interpreter: int) -> None:
        """The wait a thread was still in when the recording ended."""
        self._weigh(until, self.last_cpu, context, 1, interpreter)

    def _code(self, at: int, kind: int) -> None:
        process = self.process
        memory = process.memory
        _, _, _, _, code, first_line, name_len, file_len, table_len = shm.CODE.unpack_from(
            memory, at
        )
        at += shm.CODE.size
        name = bytes(memory[at : at + name_len]).decode(errors="replace")
        if kind == shm.REC_NATIVE:
            process.codes.add_native(code, name)
            return
        at += name_len
        file = bytes(memory[at : at + file_len]).decode(errors="replace")
        at += file_len
        process.codes.add(code, name, file, first_line, bytes(memory[at : at + table_len]))

    def _thread(self, at: int) -> None:
        _, _, _, _, address, _, name_len, _, _ = shm.CODE.unpack_from(self.process.memory, at)
        at += shm.CODE.size
        name = bytes(self.process.memory[at : at + name_len]).decode(errors="replace")
        self.process.names[address] = name

    def _open_wait(self, at: int) -> None:
        _, _, _, flags, now, _, keep, count, interpreter, tid = shm.SAMPLE.unpack_from(
            self.process.memory, at
        )
        context = self._stack_of(at, keep, count, flags)
        self.process.open_waits[tid] = (now, context, interpreter)

    def _undecodable(self, at: int, kind: int, state: int) -> None:
        """A stack that continues one we lost: its time counts all the same."""
        _, _, _, _, now, cpu, _, _, interpreter, _ = shm.SAMPLE.unpack_from(
            self.process.memory, at
        )
        self.process.undescribed += 1
        if kind == shm.REC_SAMPLE:
            self._weigh(now, cpu, -1, state, interpreter)
