"""A thread has one row, whatever was lost of it; another thread with its id has another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from launching import Interpreter, sonde
from matrix import OLDEST_AND_NEWEST
from rings import ORIGIN, RING, Ring
from sonde.record.decode.target import TargetProcess
from sonde.record.recorder.options import options
from sonde.record.shm import layout as shm
from sonde.record.shm.agent_memory import AgentMemory
from sonde.record.shm.lock_drain import LockRows
from sonde.record.system import procfs
from sonde.record.tables import threads
from sonde.record.tables.stacks.contexts import Contexts
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer
from sonde.row_values import OWNER_OBSERVED

LOCK = 0x7F0000001000
TICK = 10_000_000
FIRST, OTHER = 70_001, 70_002


class Kernel:
    """What it would say of the threads of a made-up process."""

    def __init__(self) -> None:
        self.born: dict[int, int] = {}
        """In clock ticks, of those that live."""
        self.missed: set[int] = set()
        """Live, but are missing in a listing of all."""
        self.cpu: dict[int, int] = {}
        self.now = ORIGIN

    def threads_of(self, pid: int) -> set[int]:
        return set(self.born) - self.missed

    def has_thread(self, pid: int, tid: int) -> bool:
        return tid in self.born

    def born_ticks(self, pid: int, tid: int) -> int:
        return self.born.get(tid, 0)

    def birth_of(self, pid: int, tid: int) -> int:
        return self.born.get(tid, 0) * TICK

    def cpu_of(self, pid: int, tid: int) -> int:
        return self.cpu.get(tid, 0)

    def name_of(self, pid: int, tid: int) -> str:
        return f"thread {tid}"

    def monotonic_ns(self) -> int:
        return self.now


class Program:
    """A made-up process and its recording."""

    def __init__(self, kernel: Kernel, path: Path) -> None:
        self.kernel, self._path = kernel, path
        self._writer = Writer(path, self._facts(1, ORIGIN))
        self._contexts = Contexts(self._writer)
        self.process = TargetProcess(
            os.getpid(), "cpython", "3.12.0", self._writer, self._contexts,
            LockRows(self._writer), ORIGIN, AgentMemory(8, RING),
        )  # fmt: skip
        header = list(shm.HEADER.unpack_from(self.process.memory, 0))
        header[11] = 8
        shm.HEADER.pack_into(self.process.memory, 0, *header)
        self._sequence = 0

    def start(self, index: int, tid: int) -> Ring:
        """A thread that takes a slot at once."""
        self.kernel.now += TICK
        self.kernel.born[tid] = self.kernel.now // TICK
        return Ring(self.process, index, tid, self.kernel.now)

    def lock(self, ring: Ring, type_: int, holder: int = 0, at: int = 0) -> None:
        self._sequence += 1
        self.kernel.now += 1000
        head = shm.LOCK.pack(
            0, 0, 0, 0, at or self.kernel.now, LOCK, self._sequence, 0, 0, 0, 0, 0, 2, 0, holder,
            0, 0,
        )  # fmt: skip
        ring.write(shm.REC_LOCK, type_, 0, head[8:])

    def sample(self, ring: Ring, cpu: int) -> None:
        self.kernel.now += 1000
        head = shm.SAMPLE.pack(0, 0, 0, 0, self.kernel.now, cpu, 0, 0, 0, 0, 0, 0, 0)
        ring.write(shm.REC_SAMPLE, 0, 0, head[8:])

    def end(self, tid: int) -> None:
        self.kernel.now += 1000
        del self.kernel.born[tid]

    def sweep(self) -> None:
        self.kernel.now += 1000
        self.process.drain()
        self.process.sweep()

    @staticmethod
    def _facts(segment: int, origin: int) -> dict[str, Any]:
        return {"started": 1.0, "session": {"id": "a", "part": segment, "clock_ns": origin}}

    def next_segment(self) -> None:
        now = self.kernel.now = self.kernel.now + 1000
        self.process.drain()
        self.process.settle()
        self.process.end_part(now)
        self._writer.end_part({"duration_ns": now - self.process.segment.origin})
        self._writer.begin(self._writer.sink, self._facts(2, now))
        self.process.start_segment(now, self._contexts.start_segment())

    def recording(self) -> Recording:
        self.kernel.now += 1000
        self.process.finish(ended=False, exit_=None)
        self._writer.close({})
        self.process.close()
        return read(self._path)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    kernel = Kernel()
    for name in ("threads_of", "has_thread", "born_ticks", "birth_of", "cpu_of", "name_of"):
        monkeypatch.setattr(procfs, name, getattr(kernel, name))
        monkeypatch.setattr(threads, name, getattr(kernel, name))
    monkeypatch.setattr(threads.time, "monotonic_ns", kernel.monotonic_ns)
    return Program(kernel, tmp_path / "made-up.sonde")


def rows(recording: Recording, tid: int) -> list[tuple[int, int, int]]:
    """Start, end and CPU time of each of its rows, by start."""
    table = recording.threads
    found = [i for i in range(len(table)) if table.tid[i] == tid]
    lives = zip(table.start_ns[found], table.end_ns[found], table.cpu_ns[found], strict=True)
    return sorted((int(start), int(end), int(cpu)) for start, end, cpu in lives)


def test_one_that_has_ended_is_mentioned_by_another(program: Program) -> None:
    first, other = program.start(0, FIRST), program.start(1, OTHER)
    program.sample(first, 5000)
    program.lock(other, shm.LOCK_WAIT_BEGIN)
    held_at = program.kernel.now
    program.sweep()
    program.end(FIRST)
    program.sweep()
    program.lock(other, shm.LOCK_OWNER_OBSERVED, holder=FIRST, at=held_at)
    program.sweep()
    recording = program.recording()
    assert len(rows(recording, FIRST)) == 1
    assert len(rows(recording, OTHER)) == 1
    assert len(recording.lock_events) == 2


def test_one_that_ended_before_a_segment_is_mentioned_in_it(program: Program) -> None:
    """A waiter reports the holder that it observed when its own wait is over."""
    first, other = program.start(0, FIRST), program.start(1, OTHER)
    program.sample(first, 5000)
    program.lock(other, shm.LOCK_WAIT_BEGIN)
    held_at = ended_at = program.kernel.now
    program.sweep()
    program.end(FIRST)
    program.sweep()
    program.next_segment()
    program.lock(other, shm.LOCK_OWNER_OBSERVED, holder=FIRST, at=held_at)
    program.sweep()
    recording = program.recording()
    ((_, end, cpu),) = rows(recording, FIRST)
    assert 0 < end <= ended_at - ORIGIN
    assert cpu == 5000
    assert len(rows(recording, OTHER)) == 1
    holders = recording.lock_events.type == OWNER_OBSERVED
    assert recording.threads.tid[recording.lock_events.thread[holders]].tolist() == [FIRST]


def test_one_that_a_listing_misses_goes_on(program: Program) -> None:
    ring = program.start(0, FIRST)
    program.sample(ring, 5000)
    program.kernel.missed.add(FIRST)
    program.sweep()
    program.kernel.missed.clear()
    program.sample(ring, 9000)
    program.sweep()
    state, tid, *_ = shm.SLOT_FACTS.unpack_from(program.process.memory, shm.HEADER_SIZE)
    assert (state, tid) == (shm.SLOT_USED, FIRST)
    program.kernel.cpu[FIRST] = 9500
    recording = program.recording()
    ((_, end, cpu),) = rows(recording, FIRST)
    assert end > 0
    assert cpu == 9500
    assert recording.samples.weight.sum() == 9000


def test_one_that_was_taken_for_ended_keeps_its_row_and_its_time(program: Program) -> None:
    ring = program.start(0, FIRST)
    program.sample(ring, 5000)
    program.sweep()
    program.process.threads.ended(FIRST)
    program.process.threads.row(FIRST, program.kernel.now)
    program.sample(ring, 9000)
    program.kernel.cpu[FIRST] = 9500
    ((_, _, cpu),) = rows(program.recording(), FIRST)
    assert cpu == 9500


@pytest.mark.parametrize("swept", [True, False])
def test_a_later_thread_with_the_same_id_is_another(program: Program, swept: bool) -> None:
    first = program.start(0, FIRST)
    program.sample(first, 5000)
    program.sweep()
    program.end(FIRST)
    if swept:
        program.sweep()
    second = program.start(1, FIRST)
    program.sample(second, 700)
    program.sweep()
    program.sample(second, 900)
    program.sweep()
    (_, end, cpu), (start, _, later_cpu) = rows(program.recording(), FIRST)
    assert end <= start
    assert (cpu, later_cpu) == (5000, 900)


@pytest.mark.parametrize("seen", [True, False])
def test_two_that_have_ended_and_had_one_id(program: Program, seen: bool) -> None:
    program.sample(program.start(0, FIRST), 5000)
    program.sweep()
    program.end(FIRST)
    if seen:
        program.sweep()
    second = program.start(1, FIRST)
    program.sample(second, 700)
    if not seen:
        program.sweep()
    program.end(FIRST)
    program.sweep()
    (_, end, _), (start, _, _) = rows(program.recording(), FIRST)
    assert end <= start


# The recorder, which the same process has started, stands still meanwhile.
MANY = """
import json, os, pathlib, signal, threading, time

lock, ids = threading.Lock(), set()

# The recorder is a sibling, and so is what tells signals apart.
def is_sibling(process):
    try:
        parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return False
    return parent == os.getppid() and process.name != str(os.getpid())

def work():
    ids.add(threading.get_native_id())
    for _ in range(60):
        with lock:
            sum(range(2000))
        time.sleep(0.001)

siblings = [int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if is_sibling(p)]
for sibling in siblings:
    os.kill(sibling, signal.SIGSTOP)
threads = [threading.Thread(target=work) for _ in range(80)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for sibling in siblings:
    os.kill(sibling, signal.SIGCONT)
print(json.dumps(len(ids)))
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_rings_that_lose_most_of_it(
    python: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, path = tmp_path / "many.py", tmp_path / "many.sonde"
    program.write_text(MANY)
    small = tmp_path / "sitecustomize.py"
    small.write_text(f"import {options.__name__} as options\noptions.RING_SIZE = 4096\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ran = sonde(
        "run", "-o", path, "--what", "cpu,waits,locks", "--", python.path, "-I", program,
        env=dict(os.environ),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    recording = read(path)
    assert recording.quality["lock_events_lost"] > 0
    tids = [int(tid) for tid in recording.threads.tid if tid]
    assert len(tids) == len(set(tids)) >= int(ran.stdout.splitlines()[-1])
