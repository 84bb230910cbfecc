"""What recording costs per thread does not grow with the number of threads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from attaching import Target, attached
from launching import TARGETS, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST
from rings import ORIGIN, RING, Ring
from sonde.record.decode.ring_reader import RingReader
from sonde.record.decode.target import TargetProcess
from sonde.record.shm import layout as shm
from sonde.record.shm.agent_memory import AgentMemory
from sonde.record.shm.lock_drain import LockRows
from sonde.record.tables.stacks.contexts import Contexts
from sonde.recording.reader import read
from sonde.recording.write.writer import Writer

PROGRAM = TARGETS / "many_waiters.py"


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_threads_that_wait_share_a_scan_for_holders(python: Interpreter, tmp_path: Path) -> None:
    """If each looked by itself, each would be walked at least once by each."""
    threads = 300
    ran = must_run(tmp_path / "run.sonde", [python.path, PROGRAM, str(threads), "1.8"])
    assert ran.told["scans"] > 0
    assert ran.told["walks"] < threads * threads / 4


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_waits_found_by_an_attach_share_a_scan_for_holders(
    python: Interpreter, tmp_path: Path
) -> None:
    threads = 200
    with Target(python, PROGRAM, str(threads)) as target:
        ran = attached(target.pid, tmp_path / "attach.sonde", "--for", "0.3")
        assert ran.code == 0, ran.err
        out, _ = target.process.communicate("\n", timeout=30)
    counts = json.loads(out.splitlines()[-1])
    assert counts["scans"] > 0
    assert counts["walks"] < threads * threads / 4


def test_a_drain_looks_only_at_threads_that_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = 1000
    writer = Writer(tmp_path / "many.sonde", {"started": 1.0})
    process = TargetProcess(
        os.getpid(), "cpython", "3.12.0", writer, Contexts(writer), LockRows(writer), ORIGIN,
        AgentMemory(slots, RING),
    )  # fmt: skip
    header = list(shm.HEADER.unpack_from(process.memory, 0))
    header[11] = slots
    shm.HEADER.pack_into(process.memory, 0, *header)
    rings = [Ring(process, index, 1_000_000 + index) for index in range(slots)]
    process.drain()
    drained: list[int] = []
    drain = RingReader.drain

    def counted(self: RingReader) -> bool:
        drained.append(self.thread.tid)
        return drain(self)

    monkeypatch.setattr(RingReader, "drain", counted)
    assert process.drain() == 0
    assert drained == []
    for index in (3, 500, 999):
        sample = shm.SAMPLE.pack(0, 0, 0, 0, ORIGIN + 5, 700, 0, 0, 0, 0, 0, 0, 0)
        rings[index].write(shm.REC_SAMPLE, 0, 0, sample[8:])
    assert process.drain() > 0
    assert drained == [1_000_003, 1_000_500, 1_000_999]
    process.drain()
    assert len(drained) == 3
    # The last word of a slot counts frames that were visited.
    for index in (0, 7):
        shm.SLOT_FRAMES.pack_into(
            process.memory, shm.HEADER_SIZE + index * shm.SLOT_SIZE + shm.FRAMES_AT, 10, 4
        )
    counts = process.counts()
    assert (counts["frames"], counts["frames_visited"]) == (20, 8)
    writer.close({})
    process.close()
    assert read(tmp_path / "many.sonde").samples.weight.tolist() == [700, 700, 700]
