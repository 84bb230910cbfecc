"""Runs of lock events that are taken natively, against the same events taken one by one."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix import OLDEST_AND_NEWEST
from rings import ORIGIN, RING, Ring
from sonde.record.decode.lock_records import LockRecords
from sonde.record.decode.target import TargetProcess
from sonde.record.shm import layout as shm
from sonde.record.shm.agent_memory import AgentMemory
from sonde.record.shm.lock_drain import LockRows, LockRuns
from sonde.record.tables.open_lock_waits import LockWait
from sonde.record.tables.stacks.contexts import Contexts
from sonde.recording.format.encode import encode_column
from sonde.recording.format.schema import TABLES
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

CODES = 4
LOCKS = [(0x7F0000001000 + 64 * i, kind) for i, kind in enumerate((1, 2, 2, 3, 2))]
CLASS = 7


class Agent:
    """One thread that does as it is drawn; stacks go as differences."""

    def __init__(self, ring: Ring, drawn: random.Random, tid: int, tids: list[int]) -> None:
        self._ring, self._drawn, self._tid, self._tids = ring, drawn, tid, tids
        self._stack: list[int] = []
        self._waits: tuple[int, int, int] | None = None
        self._span = 0
        self._cpu = 0

    def act(self, now: int, sequence: int) -> None:
        drawn = self._drawn.random()
        if drawn < 0.03:
            self._sample(now)
        elif drawn < 0.05:
            self._change_span(now)
        elif self._waits is not None:
            self._end_wait(now, sequence)
        else:
            self._event(now, sequence)

    def _event(self, now: int, sequence: int) -> None:
        lock, kind = self._drawn.choice(LOCKS)
        kinds = [
            shm.LOCK_WAIT_BEGIN,
            shm.LOCK_RELEASED,
            shm.LOCK_WAITED,
            shm.LOCK_OWNER_OBSERVED,
            shm.LOCK_PREEXISTING,
        ]
        type_ = self._drawn.choices(kinds, (10, 10, 10, 1, 1))[0]
        started = began = holder = 0
        if type_ == shm.LOCK_WAIT_BEGIN:
            self._waits = (lock, kind, now)
            started = CLASS if kind == 3 else 0
        elif type_ == shm.LOCK_WAITED:
            started, began = now - self._drawn.randrange(1, 3000), sequence + 1000
        elif type_ in (shm.LOCK_OWNER_OBSERVED, shm.LOCK_PREEXISTING):
            holder, started = self._drawn.choice(self._tids), 1
            began = self._drawn.randrange(2)  # whether it will tell its end itself
        self._tell(type_, now, lock, kind, sequence, started, began, holder)

    def _end_wait(self, now: int, sequence: int) -> None:
        assert self._waits is not None
        lock, kind, _ = self._waits
        self._waits = None
        type_ = shm.LOCK_ACQUIRED if self._drawn.random() < 0.9 else shm.LOCK_GAVE_UP
        self._tell(type_, now, lock, kind, sequence, 0, 0, 0)

    def _tell(
        self, type_: int, now: int, lock: int, kind: int, sequence: int, started: int, began: int,
        holder: int,
    ) -> None:  # fmt: skip
        keep, words, flags = 0, b"", 0
        if type_ not in (shm.LOCK_ACQUIRED, shm.LOCK_GAVE_UP):
            keep, words, flags = self._walk()
        interpreter = 1 if self._drawn.random() < 0.02 else 0
        head = shm.LOCK.pack(
            0, 0, 0, 0, now, lock, sequence, started, began, keep, len(words) // 8, interpreter,
            kind, 0, holder, self._span, 0,
        )  # fmt: skip
        self._ring.write(shm.REC_LOCK, type_, flags, head[8:] + words)

    def _sample(self, now: int) -> None:
        keep, words, flags = self._walk()
        self._cpu += 1000
        head = shm.SAMPLE.pack(
            0, 0, 0, 0, now, self._cpu, keep, len(words) // 8, 0, 0, 0, self._span, 0
        )
        self._ring.write(shm.REC_SAMPLE, 0, flags, head[8:] + words)

    def _change_span(self, now: int) -> None:
        if self._span:
            self._ring.end_span(self._span, now)
            self._span = 0
        else:
            self._span = self._tid % 1000 * 100_000 + self._drawn.randrange(1, 100_000)
            self._ring.begin_span(self._span, now)

    def _walk(self) -> tuple[int, bytes, int]:
        if self._drawn.random() < 0.02:
            self._stack = []
            return 0, b"", shm.UNDECODABLE
        keep = self._drawn.randrange(len(self._stack) + 1)
        depth = self._drawn.randrange(4) if self._drawn.random() < 0.98 else 200
        new = [self._drawn.randrange(1, CODES) << shm.INSTR_BITS | 1 for _ in range(depth)]
        flags = shm.TRUNCATED if not keep and self._drawn.random() < 0.05 else 0
        if keep and new and self._drawn.random() < 0.2:
            flags = shm.DETACHED
        elif new or not keep:  # else what is deeper may be referred to again
            self._stack = self._stack[:keep] + new
        words = b"".join(word.to_bytes(8, "little") for word in reversed(new))
        return keep, words, flags


@pytest.fixture
def tids() -> list[int]:
    return [os.getpid(), os.getpid() + 1_000_000, os.getpid() + 2_000_000]


@pytest.fixture
def singly(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The types of the events that were taken one by one."""
    types: list[int] = []
    one = LockRecords.record

    def counted(self: LockRecords, at: int, type_: int, flags: int) -> None:
        types.append(type_)
        one(self, at, type_, flags)

    monkeypatch.setattr(LockRecords, "record", counted)
    return types


def recorded(path: Path, tids: list[int], seed: int, notable: int | None = None) -> Any:
    """A recording of drawn events in two parts, and which of their waits were notable."""
    told: list[LockWait] = []
    writer = Writer(path, {"started": 1.0})
    contexts = Contexts(writer)
    process = TargetProcess(
        os.getpid(),
        "cpython",
        "3.12.0",
        writer,
        contexts,
        LockRows(writer),
        ORIGIN,
        AgentMemory(8, RING),
    )
    process.open_locks.notable_ns, process.open_locks.on_long_wait = notable, told.append
    header = list(shm.HEADER.unpack_from(process.memory, 0))
    header[11] = len(tids)
    shm.HEADER.pack_into(process.memory, 0, *header)
    drawn = random.Random(seed)
    rings = [Ring(process, index, tid) for index, tid in enumerate(tids)]
    agents = [Agent(ring, drawn, tid, tids) for ring, tid in zip(rings, tids, strict=True)]
    for number in range(1, CODES):
        rings[0].name(number)
    rings[0].class_(CLASS, "a class")
    now = ORIGIN
    for step in range(6000):
        now += drawn.randrange(1, 500)
        drawn.choice(agents).act(now, step)
        if drawn.random() < 0.01:
            process.drain()
        if drawn.random() < 0.002:
            process.look_at_waits(now)
        if step == 4000:  # a new part: all rows are others
            process.drain()
            writer.flush()
            process.start_segment(now, contexts.start_segment())
    process.drain()
    process.settle()
    writer.close({})
    process.close()
    return read(path), told


def told(recording: Recording) -> list[tuple[Any, ...]]:
    """Its events by what they say, whatever rows they point at."""
    events, threads = recording.lock_events, recording.threads
    functions, contexts = recording.functions, recording.contexts

    def chain(context: int) -> tuple[str, ...]:
        names = []
        while context >= 0:
            names.append(functions.name[contexts.function[context]])
            context = int(contexts.parent[context])
        return tuple(names)

    return [
        (
            int(threads.tid[events.thread[i]]),
            int(threads.interpreter[events.thread[i]]),
            int(events.time[i]),
            int(recording.locks.address[events.lock[i]]),
            recording.locks.made_of[events.lock[i]],
            recording.locks.type[events.lock[i]],
            int(events.sequence[i]),
            int(events.type[i]),
            chain(int(events.context[i])),
            int(events.span[i]),
        )
        for i in range(len(events))
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("notable", [None, 2000])
def test_the_same_as_one_by_one(
    tmp_path: Path,
    tids: list[int],
    singly: list[int],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    notable: int | None,
) -> None:
    native, waits = recorded(tmp_path / "native.sonde", tids, seed, notable)
    by_itself = len(singly)
    singly.clear()
    monkeypatch.setattr(LockRuns, "take", lambda self, line, at, tail, *more: tail)
    plain, plain_waits = recorded(tmp_path / "plain.sonde", tids, seed, notable)
    # What is open at the seam is told again in any order.
    assert sorted(told(native)) == sorted(told(plain))
    assert sorted(waits) == sorted(plain_waits)
    assert (len(waits) > 100) == (notable is not None)
    assert native.samples.weight.sum() == plain.samples.weight.sum()
    assert len(native.contexts) == len(plain.contexts)
    assert by_itself < 0.6 * len(singly)  # it is not to be for nothing


def test_events_that_repeat_are_taken_natively(tmp_path: Path, singly: list[int]) -> None:
    writer = Writer(tmp_path / "events.sonde", {"started": 1.0})
    process = TargetProcess(
        os.getpid(), "cpython", "3.12.0", writer, Contexts(writer), LockRows(writer), ORIGIN,
        AgentMemory(8, RING),
    )  # fmt: skip
    header = list(shm.HEADER.unpack_from(process.memory, 0))
    header[11] = 1
    shm.HEADER.pack_into(process.memory, 0, *header)
    ring = Ring(process, 0, os.getpid())
    ring.name(5)
    word = (5 << shm.INSTR_BITS | 1).to_bytes(8, "little")
    for i in range(400):
        for type_, words in (
            (shm.LOCK_WAIT_BEGIN, word), (shm.LOCK_ACQUIRED, b""), (shm.LOCK_RELEASED, word),
        ):  # fmt: skip
            head = shm.LOCK.pack(
                0, 0, 0, 0, ORIGIN + i, 64, 3 * i + type_, 0, 0, 0, len(words) // 8, 0, 2, 0, 0, 0,
                0,
            )  # fmt: skip
            ring.write(shm.REC_LOCK, type_, 0, head[8:] + words)
        process.drain()
    writer.close({})
    process.close()
    assert len(singly) <= 3
    assert len(read(tmp_path / "events.sonde").lock_events) == 1200


def test_what_cannot_be_meant_is_refused_and_counted(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "events.sonde", {"started": 1.0})
    process = writer.append("processes", 1, 0, "cpython", "3.12", "python", [], 0)
    thread = writer.append("threads", process, 1)
    lock = writer.append("locks", process, 64, "semaphore")
    rows = LockRows(writer)
    rows.append(thread, 2**62, lock, 1, 4, -1, -1)
    rows.append(thread, 5, lock, 2**63 + 1, 4, -1, -1)
    rows.append(thread, 6, lock, 2, 4, -1, -1)
    writer.close({})
    recording = read(tmp_path / "events.sonde")
    assert sorted(recording.lock_events.sequence.tolist()) == [2, 2**63 + 1]
    assert recording.quality["refused"] == {"lock_events": 1}


def _drawn_rows(drawn: random.Random, count: int) -> list[tuple[int, ...]]:
    wide = drawn.choice([1, 200, 2**20, 2**59])
    return [
        (
            drawn.randrange(4),
            drawn.randrange(-wide, wide),
            drawn.randrange(2**32),
            drawn.randrange(drawn.choice([1, 300, 2**63])),
            drawn.randrange(1, 7),
            drawn.randrange(-1, 2**31),
            -1,
            drawn.randrange(drawn.choice([1, 300, 2**40])),
        )
        for _ in range(count)
    ]


def _packed(rows: list[tuple[int, ...]], most: int, folder: Path) -> Iterator[tuple[int, bytes]]:
    writer = Writer(folder / "rows.sonde", {"started": 1.0})
    native = LockRows(writer)
    for row in rows:
        native.append(*row)
    return native._packed(most)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_encoded_as_everywhere(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    rows = _drawn_rows(drawn, drawn.choice([1, 2, 3, 255, 256, 257, 600]))
    columns = next(table for table in TABLES if table.name == "lock_events").columns
    start = 0
    for count, raw in _packed(rows, 256, tmp_path):
        assert 0 < count <= 256
        part = rows[start : start + count]
        values = zip(columns, zip(*part, strict=True), strict=True)
        assert raw == b"".join(encode_column(column, list(of)) for column, of in values)
        start += count
    assert start == len(rows)
