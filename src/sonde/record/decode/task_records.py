"""Records of event loops on their way into the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.row_values import LOOP_RUNTIMES

from ..shm import layout as shm
from .agent_text import decode_text

if TYPE_CHECKING:
    from .process_tables import ProcessTables
    from .ring_thread import RingThread
    from .stacks import StackDecoder


class TaskRecords:
    """Those in one thread's ring."""

    def __init__(self, tables: ProcessTables, thread: RingThread, stacks: StackDecoder) -> None:
        self._tables = tables
        self._thread = thread
        self._stacks = stacks
        self.current = 0
        """The task of the samples that follow; 0: none."""

    def start_segment(self) -> None:
        self._tables.tasks.mention(self.current)

    def record(self, at: int, kind: int, state: int, flags: int, size: int) -> None:
        if kind == shm.REC_TASK:
            self.current = shm.TASK.unpack_from(self._tables.memory, at)[4]
            self._stacks.line.task = self.current
            self._tables.tasks.mention(self.current)
        elif kind == shm.REC_TASK_INFO:
            self._info(at, state)
        elif kind == shm.REC_TASK_TIMES:
            self._times(at, state)
        elif kind == shm.REC_TASK_WAIT:
            self._wait(at, state)
        elif kind == shm.REC_TASK_STEP:
            self._step(at)
        elif kind == shm.REC_TASK_RESUMED:
            self._resumed(at, state, flags)
        elif kind == shm.REC_TASK_AWAITER:
            self._awaiter(at)
        else:
            self._loop(at, state, size)

    def _info(self, at: int, kind: int) -> None:
        _, _, _, _, number, parent, created, code, length, _ = shm.TASK_INFO.unpack_from(
            self._tables.memory, at
        )
        at += shm.TASK_INFO.size
        name = decode_text(bytes(self._tables.memory[at : at + length]))
        self._tables.tasks.describe(number, kind, name, code, parent, created)

    def _times(self, at: int, ended: int) -> None:
        tables = self._tables
        _, _, _, _, now, number, running, ready, suspended, caused, steps, ends = (
            shm.TASK_TIMES.unpack_from(tables.memory, at)
        )
        tables.tasks.mention(number)
        segment = tables.segment
        segment.writer.append(
            "task_times", segment.row, now - segment.origin, number, steps, ends, running, ready,
            suspended, caused, ended,
        )  # fmt: skip
        if ended:
            tables.tasks.end(number)

    def _wait(self, at: int, woken: int) -> None:
        tables = self._tables
        (_, _, _, _, now, number, waker, ready, suspended, object_, count, _) = (
            shm.TASK_WAIT.unpack_from(tables.memory, at)
        )
        context = self._stacks.stack_apart(at, count, shm.TASK_WAIT.size)
        tables.tasks.mention(number)
        tables.tasks.mention(waker)
        tables.segment.writer.append(
            "task_waits", self._thread.time.row(0), now - tables.segment.origin, number, ready,
            suspended, waker, woken, context, object_,
        )  # fmt: skip

    def _step(self, at: int) -> None:
        tables = self._tables
        _, _, _, _, now, number, duration, caused = shm.TASK_STEP.unpack_from(tables.memory, at)
        tables.tasks.mention(number)
        tables.segment.writer.append(
            "task_steps", self._thread.time.row(0), now - tables.segment.origin, number, duration,
            caused,
        )  # fmt: skip

    def _resumed(self, at: int, woken: int, flags: int) -> None:
        tables = self._tables
        (_, _, _, _, now, number, waker, since, executed, interpreter, _, keep, count) = (
            shm.TASK_RESUMED.unpack_from(tables.memory, at)
        )
        # KeyError while the code is unknown, before the stack, which is taken once only.
        function = tables.codes.place(executed)[0] if executed else -1
        context = self._stacks.stack_of(at, keep, count, flags, shm.TASK_RESUMED.size)
        tables.tasks.mention(number)
        tables.tasks.mention(waker)
        tables.segment.writer.append(
            "task_resumptions", self._thread.time.row(interpreter), now - tables.segment.origin,
            number, waker, woken, now - since if since else -1, function, context,
        )  # fmt: skip

    def _awaiter(self, at: int) -> None:
        tables = self._tables
        _, _, _, _, now, number, awaiter, count, _ = shm.TASK_AWAITER.unpack_from(tables.memory, at)
        context = self._stacks.stack_apart(at, count, shm.TASK_AWAITER.size)
        tables.tasks.mention(number)
        tables.tasks.mention(awaiter)
        segment = tables.segment
        segment.writer.append(
            "task_awaiters", segment.row, now - segment.origin, number, awaiter, context
        )

    def _loop(self, at: int, runtime: int, size: int) -> None:
        tables = self._tables
        _, _, _, _, now, ready, longest, tid, steps = shm.LOOP.unpack_from(tables.memory, at)
        writer, moment = tables.segment.writer, now - tables.segment.origin
        row = tables.threads.time_of(tables.tids.ours(tid), now).row(0)
        name = LOOP_RUNTIMES[runtime] if runtime < len(LOOP_RUNTIMES) else ""
        writer.append("loop_times", row, moment, name, steps, ready, longest)
        for place in range(at + shm.LOOP.size, at + size - 7, 8):
            bucket, count = shm.LOOP_LAG.unpack_from(tables.memory, place)
            if count and bucket < shm.LAG_BUCKETS:
                writer.append("loop_lags", row, moment, below_ns(bucket), count)


def below_ns(bucket: int) -> int:
    """The bound of a bucket's waits, see native/core/session/shm.h."""
    return int((1 << bucket // 4) * (1 + (bucket % 4 + 1) / 4))
