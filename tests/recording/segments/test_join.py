"""A session in parts is the session: nothing is counted twice or lost at a seam."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recording.made import MS
from sonde.recording.format.framing import RecordingError
from sonde.recording.reader import read, read_bytes, read_parts
from sonde.recording.tables import Recording
from sonde.recording.write.sink import FileSink, MemorySink, WriteError
from sonde.recording.write.writer import Writer
from sonde.views.locks.contentions import contended

WAIT_BEGIN, ACQUIRED, RELEASED = 1, 2, 4
SEAM = 100 * MS
SESSION = "5e551011"
TABLES = (
    "threads", "samples", "marks", "locks", "lock_events", "spans", "pauses", "metrics", "machine",
    "processors", "types", "objects",
)  # fmt: skip


def facts(part: int, clock: int, session: str = SESSION) -> dict[str, Any]:
    return {"session": {"id": session, "part": part, "clock_ns": 7 * MS + clock}, "pid": 1}


def names(writer: Writer, *functions: str) -> list[int]:
    """A chain of functions, outermost first: its contexts."""
    contexts, parent = [], -1
    for name in functions:
        function = writer.append("functions", name, "f.py", 1, "cpython")
        parent = writer.append("contexts", parent, function, 2)
        contexts.append(parent)
    return contexts


def people(writer: Writer, start: int, end: int, cpu: tuple[int, int], type_: str = "") -> None:
    writer.append("processes", 1, 0, "cpython", "3.12.1", "", [], start, -1, "", 77)
    writer.append("threads", 0, 10, "owner", 0, start, end, cpu[0], 5)
    writer.append("threads", 0, 11, "waiter", 0, start, end, cpu[1], 6)
    writer.append("locks", 0, 0xABC0, "semaphore", type_)


def used(writer: Writer, at: int, cpu: int) -> None:
    """A step of the metrics."""
    writer.append("metrics", 0, at, cpu, 1, 2, 3)
    writer.append("machine", 0, at, cpu, 5, 6, 7)
    writer.append("processors", 0, at, 1, cpu, 6)


def whole() -> Recording:
    """What happened: a sleep, a wait for a lock and spans, all across the seam."""
    writer = Writer(sink := MemorySink(), facts(1, 0))
    people(writer, 0, 200 * MS, (150 * MS, 20 * MS), "Lock")
    main, work = names(writer, "main", "work")
    late = writer.append("contexts", main, writer.append("functions", "late", "f.py", 9), 9)
    outer = writer.append("spans", 0, 10 * MS, "outer")
    short = writer.append("spans", 1, 20 * MS, "short")
    writer.append("span_ends", short, 30 * MS)
    inner = writer.append("spans", 0, 40 * MS, "inner", outer)
    never = writer.append("spans", 1, 55 * MS, "never left")
    writer.append("samples", 0, 50 * MS, work, 50 * MS, 0, inner)
    writer.append("lock_events", 1, 60 * MS, 0, 1, WAIT_BEGIN, main, never)
    writer.append("marks", 70 * MS, 1, "before")
    writer.append("samples", 0, 130 * MS, work, 80 * MS, 1, inner)
    writer.append("span_ends", inner, 135 * MS)
    later = writer.append("spans", 0, 136 * MS, "later", outer)
    writer.append("lock_events", 0, 140 * MS, 0, 2, RELEASED, work, later)
    writer.append("lock_events", 1, 141 * MS, 0, 3, ACQUIRED, -1)
    writer.append("samples", 1, 150 * MS, late, 9 * MS, 0, short)
    writer.append("span_ends", later, 160 * MS)
    writer.append("span_ends", outer, 165 * MS)
    writer.append("marks", 170 * MS, -1, "after")
    for at, cpu in ((90 * MS, 80), (SEAM, 9), (200 * MS, 70)):
        used(writer, at, cpu)
    one, two = (writer.append("types", name, "hotspot") for name in ("One", "Two"))
    writer.append("objects", 0, 45 * MS, work, one, 16, 512)
    writer.append("objects", 1, 145 * MS, late, two, 32, 512)
    writer.append("objects", 1, 146 * MS, -1, one, 64, 512)
    writer.quality({"taken": 3, "lost": 3, "rate_asked": 1000, "sampler": "perf"})
    writer.close({"duration_ns": 200 * MS})
    return read_bytes(b"".join(sink.chunks))


def in_parts(writer: Writer, second: Any) -> None:
    """The same with a seam in the middle; `second` is where the second part goes."""
    people(writer, 0, SEAM, (60 * MS, 15 * MS))
    main, work = names(writer, "main", "work")
    outer = writer.append("spans", 0, 10 * MS, "outer")
    short = writer.append("spans", 1, 20 * MS, "short")
    writer.append("span_ends", short, 30 * MS)
    inner = writer.append("spans", 0, 40 * MS, "inner", outer)
    never = writer.append("spans", 1, 55 * MS, "never left")
    writer.append("samples", 0, 50 * MS, work, 50 * MS, 0, inner)
    writer.append("lock_events", 1, 60 * MS, 0, 1, WAIT_BEGIN, main, never)
    writer.append("marks", 70 * MS, 1, "before")
    for at, cpu in ((90 * MS, 80), (SEAM, 9)):
        used(writer, at, cpu)
    one = writer.append("types", "One", "hotspot")
    writer.append("objects", 0, 45 * MS, work, one, 16, 512)
    writer.quality({"taken": 1, "lost": 1, "rate_asked": 1000, "sampler": "perf"})
    writer.end_part({"duration_ns": SEAM})
    writer.begin(second, facts(2, SEAM))
    people(writer, 0, SEAM, (90 * MS, 5 * MS), "Lock")
    # Other functions come first here: what is the same has other numbers.
    (main,) = names(writer, "main")
    late = writer.append("contexts", main, writer.append("functions", "late", "f.py", 9), 9)
    work = writer.append("contexts", main, writer.append("functions", "work", "f.py", 1), 2)
    never = writer.append("spans", 1, -45 * MS, "never left")
    outer = writer.append("spans", 0, -90 * MS, "outer")
    inner = writer.append("spans", 0, -60 * MS, "inner", outer)
    writer.append("lock_events", 1, -40 * MS, 0, 1, WAIT_BEGIN, main, never)
    writer.append("samples", 0, -1, work, 50 * MS, 1, inner)
    writer.append("samples", 0, 30 * MS, work, 30 * MS, 1, inner)
    writer.append("span_ends", inner, 35 * MS)
    later = writer.append("spans", 0, 36 * MS, "later", outer)
    writer.append("lock_events", 0, 40 * MS, 0, 2, RELEASED, work, later)
    writer.append("lock_events", 1, 41 * MS, 0, 3, ACQUIRED, -1)
    # One that had ended, and is needed once more.
    short = writer.append("spans", 1, -80 * MS, "short")
    writer.append("span_ends", short, 0)
    writer.append("samples", 1, 50 * MS, late, 9 * MS, 0, short)
    writer.append("span_ends", later, 60 * MS)
    writer.append("span_ends", outer, 65 * MS)
    writer.append("marks", 70 * MS, -1, "after")
    used(writer, SEAM, 70)
    two, one = (writer.append("types", name, "hotspot") for name in ("Two", "One"))
    writer.append("objects", 1, 45 * MS, late, two, 32, 512)
    writer.append("objects", 1, 46 * MS, -1, one, 64, 512)
    writer.quality({"taken": 2, "lost": 2, "rate_asked": 1000, "sampler": "perf"})
    writer.close({"duration_ns": SEAM})


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "x.0001.sonde", tmp_path / "x.0002.sonde"]
    in_parts(Writer(paths[0], facts(1, 0)), FileSink(paths[1]))
    return paths


def chains(recording: Recording, contexts: Any) -> list[list[tuple[str, int]]]:
    found = []
    for context in contexts.tolist():
        chain = []
        while context >= 0:
            function = int(recording.contexts.function[context])
            chain.append(
                (recording.functions.name[function], int(recording.contexts.line[context]))
            )
            context = int(recording.contexts.parent[context])
        found.append(chain)
    return found


def same(one: Recording, other: Recording) -> None:
    """All tables, with contexts by what they stand for."""
    for name in TABLES:
        first, second = getattr(one, name), getattr(other, name)
        for column in fields(first):
            a, b = getattr(first, column.name), getattr(second, column.name)
            if column.name == "context":
                assert chains(one, a) == chains(other, b), name
            else:
                assert list(a) == list(b), (name, column.name)
    assert one.processes == other.processes
    assert one.target["duration_ns"] == other.target["duration_ns"]
    counts = {"taken", "lost", "rate_asked", "sampler", "missing_samples", "damaged_blocks"}
    assert {k: one.quality[k] for k in counts} == {k: other.quality[k] for k in counts}
    assert one.warnings == other.warnings == []


def test_parts_join_to_the_whole(parts: list[Path], tmp_path: Path) -> None:
    same(read_parts(parts), whole())
    same(read_parts(parts[::-1]), whole())
    same(read(tmp_path), whole())
    same(read(tmp_path / "x.*.sonde"), whole())


def test_parts_behind_one_another_in_one_file(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "x.sonde")
    in_parts(Writer(sink, facts(1, 0)), sink)
    same(read(tmp_path / "x.sonde"), whole())


def test_a_part_that_two_files_hold_counts_once(parts: list[Path], tmp_path: Path) -> None:
    both = tmp_path / "both.sonde"
    both.write_bytes(parts[0].read_bytes() + parts[1].read_bytes())
    same(read_parts([*parts, both]), whole())


def test_each_part_alone_has_its_own_share(parts: list[Path]) -> None:
    first, second = (read(path) for path in parts)
    assert first.warnings == second.warnings == []
    assert first.samples.weight.tolist() == [50 * MS]
    assert second.samples.weight.tolist() == [30 * MS, 9 * MS]
    assert second.samples.time.tolist() == [30 * MS, 50 * MS]
    for recording, start, end in ((first, 60 * MS, SEAM), (second, 0, 41 * MS)):
        found = contended(recording).found
        assert (found.start.tolist(), found.end.tolist()) == ([start], [end])
    # The repeated beginning brings the waiter's chain along, and no gap in the numbers.
    assert chains(second, contended(second).found.context) == [[("main", 2)]]
    assert contended(second).found.tail_thread.tolist() == [0]


def test_spans_of_a_part_alone_lie_in_it(parts: list[Path]) -> None:
    first, second = (read(path).spans for path in parts)
    assert first.end_ns.tolist() == [-1, 30 * MS, -1, -1]
    assert second.name == ["never left", "outer", "inner", "later", "short"]
    assert second.start_ns.tolist() == [0, 0, 0, 36 * MS, 0]
    assert second.end_ns.tolist() == [-1, 65 * MS, 35 * MS, 60 * MS, 0]
    assert second.parent.tolist() == [-1, -1, 1, 1, -1]


def test_a_span_is_one_although_a_part_is_missing(tmp_path: Path) -> None:
    for number, (start, end) in {1: (10 * MS, None), 3: (-190 * MS, 5 * MS)}.items():
        writer = Writer(tmp_path / f"{number}.sonde", facts(number, (number - 1) * SEAM))
        people(writer, 0, SEAM, (0, 0))
        (main,) = names(writer, "main")
        span = writer.append("spans", 0, start, "long")
        # One of the missing part that had ended: nobody knows any more when it began.
        if end is not None:
            writer.append("span_ends", span, end)
            other = writer.append("spans", 1, -50 * MS, "other")
            writer.append("span_ends", other, 0)
        writer.append("samples", 0, 2 * MS, main, 2 * MS, 0, span)
        writer.close({"duration_ns": SEAM})
    recording = read(tmp_path)
    assert recording.spans.name == ["long", "other"]
    assert recording.spans.start_ns.tolist() == [10 * MS, 2 * SEAM]
    assert recording.spans.end_ns.tolist() == [2 * SEAM + 5 * MS, 2 * SEAM]
    assert recording.samples.span.tolist() == [0, 0]


def test_a_pause_and_the_rates_go_across_a_seam(tmp_path: Path) -> None:
    told: list[tuple[list[tuple[int, int]], dict[str, Any]]] = [
        (
            [(10, 20), (80, 100)],
            {"rate_asked": 1000, "rate_achieved": 1000, "running_samples": 900, "paused_ns": 30},
        ),
        (
            [(0, 100)],
            {"rate_asked": 1000, "rate_achieved": None, "running_samples": 0, "paused_ns": 100},
        ),
        (
            [(0, 5), (50, 60)],
            {
                "rate_asked": 400,
                "rate_achieved": 500,
                "running_samples": 150,
                "paused_ns": 15,
                "rates": [[0, 1000], [30 * MS, 100]],
            },
        ),
        ([], {"rate_asked": 100, "rate_achieved": None, "running_samples": 0, "paused_ns": 0}),
    ]
    for number, (pauses, quality) in enumerate(told):
        writer = Writer(tmp_path / f"{number}.sonde", facts(number + 1, number * SEAM))
        people(writer, 0, SEAM, (0, 0))
        for start, end in pauses:
            writer.append("pauses", start * MS, end * MS)
        writer.quality(quality)
        writer.close({"duration_ns": SEAM})
    recording = read(tmp_path)
    found = zip(recording.pauses.start_ns.tolist(), recording.pauses.end_ns.tolist(), strict=True)
    assert [(a // MS, b // MS) for a, b in found] == [(10, 20), (80, 205), (250, 260)]
    assert recording.quality["paused_ns"] == 145
    assert recording.quality["rates"] == [[0, 1000], [230 * MS, 100]]
    # By CPU time: 0.9 s at 1000 asked for, 0.3 s at 400.
    assert recording.quality["rate_asked"] == 850
    assert recording.quality["rate_achieved"] == 875.0
    assert read(tmp_path / "1.sonde").pauses.end_ns.tolist() == [SEAM]


def test_a_long_silence_does_not_look_like_lost_events(tmp_path: Path) -> None:
    """Number 1 is repeated in a part whose own events begin at 1001."""
    writer = Writer(tmp_path / "x.sonde", facts(9, 0))
    people(writer, 0, SEAM, (0, 0))
    (main,) = names(writer, "main")
    writer.append("lock_events", 1, -(10**12), 0, 1, WAIT_BEGIN, main)
    writer.append("lock_events", 0, 40 * MS, 0, 1001, RELEASED, main)
    writer.append("lock_events", 1, 41 * MS, 0, 1002, ACQUIRED, -1)
    writer.close({"duration_ns": SEAM})
    found = contended(read(tmp_path / "x.sonde")).found
    assert (found.start.tolist(), found.end.tolist()) == ([0], [41 * MS])
    assert found.holds.gap.tolist() == [False]


def test_a_missing_part_is_told_and_its_waits_are_not_made_up(tmp_path: Path) -> None:
    paths = [tmp_path / "a.sonde", tmp_path / "b.sonde"]
    in_parts(Writer(paths[0], facts(1, 0)), FileSink(paths[1]))
    writer = Writer(tmp_path / "c.sonde", facts(4, 3 * SEAM))
    people(writer, 0, SEAM, (0, 0))
    (main,) = names(writer, "main")
    writer.append("samples", 0, -1, main, 500 * MS, 1)
    writer.append("samples", 0, 5 * MS, main, 5 * MS, 1)
    writer.close({"duration_ns": SEAM})
    recording = read(tmp_path)
    assert recording.samples.weight.tolist()[-1] == 5 * MS
    assert recording.warnings == [
        f"{tmp_path}: 1 segment between the first and the last is missing"
    ]
    assert recording.quality["gap_ns"] == SEAM
    assert recording.target["duration_ns"] == 4 * SEAM


def test_parts_of_different_sessions_are_not_mixed(parts: list[Path], tmp_path: Path) -> None:
    Writer(tmp_path / "y.sonde", facts(1, 0, "another")).close({})
    with pytest.raises(RecordingError, match=r"has segments of 2 sessions, such as .*x\.0001"):
        read(tmp_path)
    os.unlink(tmp_path / "y.sonde")
    Writer(tmp_path / "y.sonde", {}).close({})
    with pytest.raises(RecordingError, match="is not a segment"):
        read(tmp_path)


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no file matches"):
        read(tmp_path / "x.*.sonde")


@pytest.mark.parametrize("cut", [1, 30, 400])
def test_a_torn_part_does_not_cost_the_one_behind_it(tmp_path: Path, cut: int) -> None:
    """As after a recorder that was killed while it wrote: the next one appends."""
    sink = FileSink(tmp_path / "x.sonde")
    in_parts(Writer(sink, facts(1, 0)), sink)
    data = (tmp_path / "x.sonde").read_bytes()
    second = data.index(data[:8], 8)
    recording = read_bytes(data[: second - cut] + data[second:])
    assert "late" in recording.functions.name
    assert recording.samples.weight.tolist()[-1] == 9 * MS
    assert len(recording.warnings) == 1


def test_what_a_full_disk_did_not_take_is_counted(tmp_path: Path) -> None:
    class Full(MemorySink):
        room = 10**6

        def write(self, data: bytes) -> None:
            if self.size + len(data) > self.room:
                raise WriteError("no room", 28)
            super().write(data)

    writer = Writer(sink := Full(), facts(1, 0))
    people(writer, 0, -1, (0, 0))
    (main,) = names(writer, "main")
    for number in range(5):
        writer.append("samples", 0, number, main, 1, 0)
    writer.flush()
    sink.room = 0
    for number in range(5, 12):
        writer.append("samples", 0, number, main, 1, 0)
    with pytest.raises(WriteError):
        writer.flush()
    assert writer.unwritten == {"samples": 7}
    sink.room = 10**6
    writer.begin(sink, facts(2, 20))
    people(writer, 0, -1, (0, 0))
    (main,) = names(writer, "main")
    writer.append("samples", 0, 1, main, 1, 0)
    writer.close({})
    recording = read_bytes(b"".join(sink.chunks))
    assert recording.samples.time.tolist() == [0, 1, 2, 3, 4, 21]
    assert np.unique(recording.samples.context).tolist() == [0]


def test_calls_keep_their_windows_and_contexts_across_a_seam(tmp_path: Path) -> None:
    writer = Writer(FileSink(tmp_path / "c.0001.sonde"), facts(1, 0))
    people(writer, 0, -1, (9 * MS, 9 * MS))
    main, work = names(writer, "main", "work")
    writer.append("sizes", 1, 40)
    writer.append("windows", 0, 10 * MS, 5_000, 3, 0)
    writer.extend("calls", [(0, work, 7, 200, 2), (0, main, 0, -1, 4)])
    writer.close({"duration_ns": SEAM})
    writer = Writer(FileSink(tmp_path / "c.0002.sonde"), facts(2, SEAM))
    people(writer, 0, -1, (9 * MS, 9 * MS))
    # The same functions, but others have their numbers now.
    late, _, again = names(writer, "late", "main", "work")
    writer.append("sizes", 0, 25)
    writer.append("windows", 1, -MS, 8_000, 3, 1)  # opened before the seam
    writer.append("windows", 1, 20 * MS, 9_000, 3, 0)
    writer.extend("calls", [(0, -1, 0, 9, 0), (1, late, 3, 10, 1), (1, again, 4, 11, 5)])
    writer.close({"duration_ns": SEAM})

    joined = read_parts([str(path) for path in sorted(tmp_path.iterdir())])
    windows, calls = joined.windows, joined.calls
    assert windows.time.tolist() == [10 * MS, SEAM - MS, SEAM + 20 * MS]
    assert windows.thread.tolist() == [0, 1, 1]
    assert windows.cut.tolist() == [0, 1, 0]
    assert calls.window.tolist() == [0, 0, 1, 2, 2]
    assert calls.offset_ns.tolist() == [200, -1, 9, 10, 11]
    assert calls.site.tolist() == [7, 0, 0, 3, 4]
    assert calls.step.tolist() == [2, 4, 0, 1, 5]
    called = [joined.functions.name[joined.contexts.function[c]] for c in calls.context if c >= 0]
    assert called == ["work", "main", "late", "work"]
    assert calls.context.tolist()[2] == -1
    sized = [joined.functions.name[row] for row in joined.sizes.function]
    assert list(zip(sized, joined.sizes.instructions.tolist(), strict=True)) == [
        ("work", 40), ("late", 25),
    ]  # fmt: skip
    alone = read(tmp_path / "c.0002.sonde")
    assert alone.windows.time.tolist() == [0, 20 * MS]
