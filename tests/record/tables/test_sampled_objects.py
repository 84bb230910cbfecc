"""Objects and their ends, as they come out of several rings and go into several segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sonde.record.tables.sampled_objects import SampledObject, SampledObjects
from sonde.record.tables.segment import ProcessSegment
from sonde.record.tables.stacks.contexts import Contexts
from sonde.record.tables.thread_row import ThreadRow
from sonde.recording.reader import read, read_parts
from sonde.recording.tables import Recording
from sonde.recording.write.sink import FileSink
from sonde.recording.write.writer import Writer

MS = 1_000_000


class Names(dict[int, str]):
    def of(self, tid: int, thread_object: int, at: int) -> str:
        return "worker"


class Recorder:
    """One process with one thread, whose rows go into the segments of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.paths = [folder / "0.sonde"]
        self.writer = Writer(str(self.paths[0]), self._target(0))
        self.segment = ProcessSegment(7, "cpython", self.writer, 0)
        self.contexts = Contexts(self.writer)
        self.thread = ThreadRow(self.segment, Names(), 7, 0, 1)  # type: ignore[arg-type]
        self.objects = SampledObjects(self.segment, self.contexts)
        self._process()

    def _target(self, now: int) -> dict[str, Any]:
        return {"session": {"id": "s", "part": len(self.paths) - 1, "clock_ns": now}}

    def _process(self) -> None:
        self.segment.row = self.writer.append(
            "processes", 7, 1, "cpython", "3.12.1", "python", ["a.py"], 0
        )

    def add(self, number: int, at: int, size: int = 100) -> None:
        context = self.contexts.pseudo_context(f"make {number}", "cpython")
        self.objects.add(
            SampledObject(self.thread, at, context, "Row", size, 512 << 10, 0x10, 0, number)
        )

    def next_segment(self, now: int) -> None:
        self.writer.end_part({"duration_ns": now - self.segment.origin})
        self.paths.append(self._folder / f"{len(self.paths)}.sonde")
        self.writer.begin(FileSink(str(self.paths[-1])), self._target(now))
        self.segment.origin = now
        remap = self.contexts.start_segment()
        self._process()
        self.objects.start_segment(remap)

    def close(self, now: int) -> list[Recording]:
        self.writer.close({"duration_ns": now - self.segment.origin})
        return [read(path) for path in self.paths]


def test_an_end_finds_its_object_whichever_comes_first(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.objects.end(2, 9 * MS)  # from a ring that was drained before
    recorder.add(1, 1 * MS)
    recorder.add(2, 2 * MS)
    recorder.add(3, 3 * MS)
    recorder.objects.end(1, 7 * MS)
    (recording,) = recorder.close(10 * MS)
    assert recording.objects.died.tolist() == [7 * MS, 9 * MS, 0]
    assert recording.objects.id.tolist() == [1, 2, 3]
    assert recording.objects.address.tolist() == [0x10] * 3
    assert recording.processes[0].survival == 1


def test_objects_that_are_not_followed_have_no_end(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.add(0, 1 * MS)
    recorder.objects.end(0, 2 * MS)
    (recording,) = recorder.close(10 * MS)
    assert recording.objects.died.tolist() == [0]
    assert recording.processes[0].survival == 0


def test_what_is_alive_is_repeated_in_the_next_segment(tmp_path: Path) -> None:
    """Also in one after that, and each time with its own stack and a row of its thread."""
    recorder = Recorder(tmp_path)
    recorder.add(1, 1 * MS)
    recorder.add(2, 2 * MS)
    recorder.objects.end(1, 5 * MS)
    recorder.next_segment(10 * MS)
    recorder.add(3, 12 * MS)
    recorder.next_segment(20 * MS)
    recorder.objects.end(2, 25 * MS)
    parts = recorder.close(30 * MS)
    assert [part.objects.id.tolist() for part in parts] == [[1, 2], [2, 3], [2, 3]]
    assert parts[2].objects.time.tolist() == [-18 * MS, -8 * MS]
    assert parts[2].objects.died.tolist() == [5 * MS, 0]
    for part in parts:
        names = [part.functions.name[part.contexts.function[c]] for c in part.objects.context]
        assert names == [f"make {number}" for number in part.objects.id]
        assert [part.threads.tid[thread] for thread in part.objects.thread] == [7, 7]

    whole = read_parts(recorder.paths).objects
    assert whole.id.tolist() == [1, 2, 3]
    assert whole.time.tolist() == [1 * MS, 2 * MS, 12 * MS]
    assert whole.died.tolist() == [5 * MS, 25 * MS, 0]
    assert np.array_equal(whole.size, [100, 100, 100])
