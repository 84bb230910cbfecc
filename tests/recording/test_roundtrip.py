"""What the writer was told is what the reader tells."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recording.made import MS, program, stacks, written
from sonde.recording.format.framing import MAX_ROWS
from sonde.recording.format.schema import TIME_LIMIT
from sonde.recording.reader import read, read_bytes
from sonde.recording.write.writer import Writer
from sonde.row_values import PREEMPTED, RUNNING, WAITING


def test_a_whole_program():
    recording = read_bytes(written(program), "made.sonde")
    assert recording.path == "made.sonde"
    assert recording.warnings == []
    assert recording.target == {
        "program": "app.py",
        "argv": ["app.py", "-x"],
        "pid": 100,
        "duration_ns": 32 * MS,
    }
    main, child = recording.processes
    assert (main.pid, main.end_ns, main.exit, main.argv) == (100, None, None, ["app.py"])
    assert (child.pid, child.ppid, child.end_ns, child.exit) == (200, 100, 31 * MS, "exit 3")
    assert recording.threads.name == ["MainThread", "renamed-3", "child"]
    assert recording.threads.cpu_ns.tolist() == [-1, 3 * MS, -1]
    assert recording.threads.process.tolist() == [0, 0, 1]
    assert len(recording.functions) == len(recording.contexts) == 12
    assert recording.contexts.parent.tolist() == list(range(-1, 11))
    assert len(recording.samples) == 29
    assert recording.samples.state.tolist()[:4] == [RUNNING, WAITING, PREEMPTED, RUNNING]
    assert recording.marks.text == [f"flush {flush} ✓" for flush in range(4)]
    assert recording.marks.thread.tolist() == [0, 1, 0, 1]
    assert recording.quality["taken"] == 28
    assert recording.quality["undecodable"] == 4
    assert recording.quality["damaged_blocks"] == recording.quality["missing_samples"] == 0
    deepest = stacks(recording)[30 * MS]
    assert deepest is not None
    assert deepest[0] == ("function_3_2", "/app/file_3.py", 23)
    assert deepest[-1] == ("function_0_0", "/app/file_0.py", 3)


def test_the_columns_have_the_types_of_the_tables():
    recording = read_bytes(written(program))
    assert recording.samples.thread.dtype == np.uint32
    assert recording.samples.time.dtype == np.int64
    assert recording.samples.context.dtype == np.int32
    assert recording.samples.weight.dtype == np.int64
    assert recording.samples.state.dtype == np.uint8
    assert recording.contexts.parent.dtype == np.int32
    assert recording.threads.process.dtype == np.uint32
    assert recording.marks.thread.dtype == np.int32


def test_an_empty_recording_has_empty_tables():
    recording = read_bytes(written(lambda writer: writer.close({})))
    assert recording.warnings == []
    assert recording.processes == []
    assert [len(t) for t in (recording.threads, recording.samples, recording.marks)] == [0, 0, 0]
    assert recording.samples.time.dtype == np.int64


texts = st.text(max_size=12)
times = st.integers(-TIME_LIMIT, TIME_LIMIT)
close_times = st.integers(0, 50).map(lambda n: n * MS)
weights = st.one_of(st.integers(0, 2**56), st.just(MS))


@st.composite
def contents(draw: st.DrawFn) -> dict[str, list[tuple[Any, ...]]]:
    threads = draw(st.lists(st.tuples(st.just(0), st.integers(0, 2**32 - 1), texts), min_size=1))
    lines = st.integers(-(2**31), 2**31 - 1)
    functions = draw(st.lists(st.tuples(texts, texts, lines, texts), min_size=1))
    contexts = [
        (draw(st.integers(-1, own - 1)), draw(st.integers(0, len(functions) - 1)), draw(lines))
        for own in range(draw(st.integers(0, 20)))
    ]
    sample = st.tuples(
        st.integers(0, len(threads) - 1),
        st.one_of(close_times, times),
        st.integers(-1, len(contexts) - 1),
        weights,
        st.integers(0, 2),
    )
    samples = draw(st.lists(sample, max_size=80))
    marks = draw(st.lists(st.tuples(times, st.integers(-1, len(threads) - 1), texts), max_size=9))
    return {
        "processes": [(1, 0, "cpython", "3.12", "", draw(st.lists(texts, max_size=4)), 0)],
        "threads": threads,
        "functions": functions,
        "contexts": contexts,
        "samples": samples,
        "marks": marks,
    }


@given(contents(), st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_any_rows_in_any_flushes(tables: dict[str, list[tuple[Any, ...]]], step: int) -> None:
    def write(writer: Writer) -> None:
        longest = max(len(rows) for rows in tables.values())
        for start in range(0, longest, step):
            for name, rows in tables.items():
                for number, row in enumerate(rows[start : start + step], start):
                    assert writer.append(name, *row) == number
            writer.flush()
        writer.close({})

    recording = read_bytes(written(write))
    assert recording.warnings == []
    assert recording.processes[0].argv == tables["processes"][0][5]
    columns: dict[str, list[Any]] = {
        "threads": [recording.threads.process, recording.threads.tid, recording.threads.name],
        "functions": [
            recording.functions.name,
            recording.functions.file,
            recording.functions.line,
            recording.functions.runtime,
        ],
        "contexts": [
            recording.contexts.parent,
            recording.contexts.function,
            recording.contexts.line,
        ],
        "samples": [
            recording.samples.thread,
            recording.samples.time,
            recording.samples.context,
            recording.samples.weight,
            recording.samples.state,
        ],
        "marks": [recording.marks.time, recording.marks.thread, recording.marks.text],
    }
    for name, found in columns.items():
        assert list(zip(*found, strict=True)) == tables[name]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text("abc", min_size=1), json_values, max_size=4), max_size=4))
@settings(max_examples=30, deadline=None)
def test_facts_merge_and_the_last_value_wins(steps: list[dict[str, Any]]) -> None:
    def write(writer: Writer) -> None:
        for step in steps:
            writer.quality(step)
            writer.target(step)
            writer.flush()
        writer.close({})

    recording = read_bytes(written(write))
    expected: dict[str, Any] = {}
    for step in steps:
        expected |= step
    for key, value in expected.items():
        assert recording.quality[key] == value
        assert recording.target[key] == value


def test_a_flush_larger_than_a_block(tmp_path):
    rows = [
        (0, number * 1_000_003, number % 5, number * number, number % 3, -1, number % 4 - 1, number)
        for number in range(5000)
    ]

    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0)
        writer.append("threads", 0, 1)
        function = writer.append("functions", "f", "f.py")
        for _ in range(5):
            writer.append("contexts", -1, function)
        assert writer.extend("samples", rows[:10]) == 0
        assert writer.extend("samples", rows[10:]) == 10
        writer.close({})

    samples = read_bytes(written(write)).samples
    assert len(rows) > MAX_ROWS
    found = zip(
        samples.thread,
        samples.time,
        samples.context,
        samples.weight,
        samples.state,
        samples.span,
        samples.processor,
        samples.task,
        strict=True,
    )
    assert [tuple(map(int, row)) for row in found] == rows


def test_texts_that_no_encoding_holds_are_spelt_out():
    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "/\udcff", ["a\udc80"], 0)
        writer.append("functions", "f", "/caf\udce9.py")
        writer.target({"cwd": "/\udcff"})
        writer.close({})

    recording = read_bytes(written(write))
    assert recording.functions.file == ["/caf<dce9>.py"]
    assert recording.processes[0].executable == "/<dcff>"
    assert recording.processes[0].argv == ["a<dc80>"]
    assert recording.target["cwd"] == "/<dcff>"


def test_endless_texts_are_shortened():
    arguments = ["x" * 90_000, *("y" * 100 for _ in range(3000))]

    def write(writer: Writer) -> None:
        for _ in range(40):
            writer.append("processes", 1, 0, "cpython", "3.12", "é" * 90_000, arguments, 0)
        writer.target({"argv": arguments, "program": "p" * 200_000})
        writer.update("processes", 0, exit="e" * 200_000)
        writer.close({})

    recording = read_bytes(written(write))
    assert recording.warnings == []
    assert len(recording.processes) == 40
    assert recording.processes[0].executable.startswith("ééé")
    assert len(recording.processes[0].executable.encode()) <= 1 << 16
    assert recording.processes[0].argv[-1] == recording.target["argv"][-1] == "…"
    assert "y" * 100 in recording.processes[0].argv
    assert recording.target["program"].endswith("p…")
    assert (recording.processes[0].exit or "").endswith("e…")


def test_opened_from_a_file(tmp_path):
    path = tmp_path / "made.sonde"
    path.write_bytes(written(program))
    assert read(path).path == str(path)
    assert stacks(read(str(path))) == stacks(read_bytes(path.read_bytes()))
