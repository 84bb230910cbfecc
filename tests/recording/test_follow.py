"""Reading a recording while it grows: the same as reading it at its end, and bounded."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recording.made import MS, blocks_of, program, written
from sonde.recording import follow
from sonde.recording.follow import Follower
from sonde.recording.format.framing import BLOCK_HEAD_SIZE, RecordingError
from sonde.recording.reader import read, read_bytes
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer
from sonde.row_values import ACQUIRED, OWNER_OBSERVED, RELEASED, WAIT_BEGIN

SECOND = 1000 * MS


def plain(recording: Recording) -> dict[str, Any]:
    told = dataclasses.asdict(recording)
    del told["path"]

    def as_list(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_list(part) for key, part in value.items()}
        return value.tolist() if isinstance(value, np.ndarray) else value

    result: dict[str, Any] = as_list(told)
    return result


@pytest.mark.parametrize("step", [1, 7, 100, 1 << 20])
def test_whatever_the_steps_the_whole_file_is_read(tmp_path: Path, step: int) -> None:
    data = written(program)
    path = tmp_path / "grows.sonde"
    path.write_bytes(data[:20])
    follower = Follower(str(path))
    with path.open("ab") as file:
        for start in range(20, len(data), step):
            file.write(data[start : start + step])
            file.flush()
            follower.poll()
    assert follower.ended
    assert follower.size == len(data)
    assert plain(follower.recording()) == plain(read_bytes(data))
    follower.close()


def test_a_poll_tells_whether_rows_came(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    follower = Follower(str(tmp_path / "x.sonde"))
    assert not follower.poll()
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    writer.flush()
    assert follower.poll()
    writer.target({"duration_ns": 5 * SECOND})
    writer.flush()
    assert not follower.poll()
    assert follower.written_ns == 5 * SECOND
    assert not follower.ended
    writer.close({})
    follower.poll()
    assert follower.ended


def test_a_recording_under_way_has_no_word_about_its_missing_end(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    follower = Follower(str(tmp_path / "x.sonde"))
    assert follower.recording().warnings == []
    assert "still writing" in read(tmp_path / "x.sonde").warnings[0]
    writer.close({})


def second_by_second(writer: Writer, seconds: int, follower: Follower) -> None:
    thread = writer.append("threads", 0, 100, "MainThread")
    for now in range(1, seconds + 1):
        function = writer.append("functions", f"f{now}", "/x.py", now)
        context = writer.append("contexts", -1, function, now)
        for part in range(10):
            writer.append("samples", thread, now * SECOND + part, context, 7)
        writer.target({"duration_ns": now * SECOND + 10})
        writer.quality({"taken": 10 * now, "lost": now, "sampler": "made"})
        writer.flush()
        follower.poll()


def test_only_the_last_part_is_kept(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    follower = Follower(str(tmp_path / "x.sonde"), keep_ns=20 * SECOND)
    second_by_second(writer, 300, follower)
    kept = follower.recording()
    assert kept.samples.time.min() >= follower.kept_from_ns >= 270 * SECOND
    assert len(kept.samples) <= 26 * 10
    # What they point at is right although what came before them is gone.
    names = [kept.functions.name[kept.contexts.function[c]] for c in kept.samples.context]
    assert names == [f"f{t // SECOND}" for t in kept.samples.time.tolist()]
    writer.close({})


def test_however_much_comes_memory_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "MAX_ROWS", {"samples": 100, "lock_events": 100})
    writer = Writer(tmp_path / "x.sonde", {})
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    follower = Follower(str(tmp_path / "x.sonde"))
    second_by_second(writer, 50, follower)
    kept = follower.recording()
    assert 0 < len(kept.samples) <= 100
    assert kept.samples.time.max() >= 50 * SECOND
    assert kept.samples.time.min() >= follower.kept_from_ns > 0
    writer.close({})


def test_counts_are_those_of_the_time_asked_for(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    follower = Follower(str(tmp_path / "x.sonde"))
    second_by_second(writer, 30, follower)
    last = follower.recording(since_ns=25 * SECOND + 10).quality
    assert (last["taken"], last["lost"], last["sampler"]) == (50, 5, "made")
    whole = follower.recording().quality
    assert (whole["taken"], whole["lost"]) == (300, 30)
    writer.close({})


def test_a_wait_that_was_under_way_is_kept_however_old(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    stuck, owner, quick = (writer.append("threads", 0, tid, "") for tid in (10, 11, 12))
    lock, other = (writer.append("locks", 0, address, "semaphore") for address in (64, 128))
    events = [
        (quick, 1 * SECOND, other, 1, WAIT_BEGIN, -1, -1, 0),
        (owner, 2 * SECOND, other, 2, RELEASED, -1, -1, 0),
        (quick, 2 * SECOND, other, 3, ACQUIRED, -1, -1, 0),
        (stuck, 3 * SECOND, lock, 1, WAIT_BEGIN, -1, -1, 0),
        (owner, 4 * SECOND, lock, 2, OWNER_OBSERVED, -1, -1, 0),
        (quick, 90 * SECOND, other, 4, WAIT_BEGIN, -1, -1, 0),
        (quick, 95 * SECOND, other, 5, ACQUIRED, -1, -1, 0),
    ]
    writer.extend("lock_events", events)
    writer.target({"duration_ns": 100 * SECOND})
    writer.flush()
    follower = Follower(str(tmp_path / "x.sonde"))
    follower.poll()
    kept = follower.recording(since_ns=92 * SECOND).lock_events
    # The old finished wait is gone; both waits that reach into the window have their beginnings.
    assert kept.time.tolist() == [3 * SECOND, 4 * SECOND, 90 * SECOND, 95 * SECOND]
    writer.close({})


def test_damage_is_stepped_over_and_counted(tmp_path: Path) -> None:
    data = bytearray(written(program))
    blocks = blocks_of(bytes(data))
    hurt = next(i for i, block in enumerate(blocks) if block.head.rows == 7)  # samples
    place = bytes(data).find(bytes(blocks[hurt].payload)) - BLOCK_HEAD_SIZE
    data[place + 1] ^= 255
    path = tmp_path / "hurt.sonde"
    path.write_bytes(data)
    follower = Follower(str(path))
    follower.poll()
    whole = read_bytes(bytes(data))
    found = follower.recording()
    assert follower.ended
    assert found.samples.time.tolist() == whole.samples.time.tolist()
    assert found.quality["damaged_blocks"] >= 1


def test_what_was_handed_out_does_not_change(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.sonde", {})
    writer.append("processes", 1, 0, "cpython", "3.12", "/p", [], 0)
    row = writer.append("threads", 0, 10, "before")
    writer.flush()
    follower = Follower(str(tmp_path / "x.sonde"))
    follower.poll()
    early = follower.recording()
    writer.update("threads", row, name="after", cpu_ns=5)
    writer.append("threads", 0, 11, "second")
    writer.flush()
    follower.poll()
    assert early.threads.name == ["before"]
    assert early.threads.cpu_ns.tolist() == [-1]
    assert follower.recording().threads.name == ["after", "second"]
    writer.close({})


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"something else, and long enough to be one")
    for name in ("x", "nothing", "."):
        with pytest.raises(RecordingError):
            Follower(str(tmp_path / name))
