"""What the parts of a page carry is what the views count."""

from __future__ import annotations

import json
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocations import Allocation, recording_of
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.calls.calls import calls
from sonde.views.locks.locks import locks
from sonde.views.objects.objects import objects
from sonde.views.quality import quality
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import Selection
from sonde.views.spans import spans
from sonde.views.stacks.flat import flat
from sonde.views.summary import summary
from sonde.web import columns
from sonde.web.bundle import PARTS, Bundle
from sonde.web.modules import module_of
from synthetic import MS, Maker
from web.made import HOSTILE, everything, hostile, truth


def inflated(data: bytes) -> bytes:
    return zlib.decompress(data, wbits=-zlib.MAX_WBITS)


def numbers(data: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def columns_of(data: bytes) -> list[list[int]]:
    rest, found = numbers(inflated(data)), []
    while rest:
        size = rest[0]
        found.append(rest[1 : size + 1])
        rest = rest[size + 1 :]
    return found


def zigzagged(values: list[int]) -> list[int]:
    return [value // 2 if value % 2 == 0 else -(value + 1) // 2 for value in values]


def meta_of(recording: Recording) -> Any:
    return json.loads(inflated(Bundle(recording, sources=False).meta))


@pytest.fixture(scope="module")
def recording() -> Recording:
    return everything().recording()


@given(st.lists(st.integers(-(2**62), 2**62)))
def test_numbers_come_back(values: list[int]) -> None:
    assert numbers(columns.unsigned(np.abs(values)))[1:] == [abs(value) for value in values]
    assert zigzagged(numbers(columns.signed(values))[1:]) == values


def test_changes_add_up() -> None:
    values = [5, 5, 3, 1 << 53, 0]
    told = zigzagged(numbers(columns.changes(values))[1:])
    assert np.cumsum(told).tolist() == values


def span_names(meta: Any, path: int) -> list[str]:
    names = []
    while path >= 0:
        path, name = meta["spanPaths"][path]
        names.append(meta["spans"][name]["name"])
    return names[::-1]


def test_samples_are_those_of_the_recording(recording: Recording) -> None:
    bundle = Bundle(recording, sources=False)
    meta = json.loads(inflated(bundle.meta))
    parent, function, near = columns_of(bundle.contexts)
    parent = np.cumsum(zigzagged(parent)).tolist()
    functions = meta["functions"]
    lines = [line + functions[f][2] for line, f in zip(zigzagged(near), function, strict=True)]

    def path(context: int) -> list[list[Any]]:
        frames = []
        while context >= 0:
            name, file, first, _, _, _ = functions[function[context]]
            frames.append([name, meta["files"][file], first, lines[context]])
            context = parent[context]
        return frames[::-1]

    thread, gap, context, weight, state, span, _ = columns_of(bundle.samples)
    thread = np.cumsum(zigzagged(thread)).tolist()
    rows, last = [], {}
    for t, g, c, w, s, p in zip(
        thread, zigzagged(gap), context, zigzagged(weight), state, span, strict=True
    ):
        last[t] = last.get(t, 0) + g + w
        rows.append([t, last[t], path(c - 1), w, s, span_names(meta, p - 1)])
    assert sorted(rows) == truth(recording)["samples"]
    assert sum(row[3] for row in rows if row[4] == 0) == flat(recording).total_ns


def test_spans_are_those_of_the_recording(recording: Recording) -> None:
    bundle = Bundle(recording, sources=False)
    meta = json.loads(inflated(bundle.meta))
    thread, start, length, path = columns_of(bundle.spans)
    rows = [
        [t, s, s + n - 1 if n else -1, span_names(meta, p)]
        for t, s, n, p in zip(
            np.cumsum(zigzagged(thread)).tolist(),
            np.cumsum(zigzagged(start)).tolist(),
            length,
            path,
            strict=True,
        )
    ]
    assert rows == sorted(rows, key=lambda row: row[:2])
    assert sorted(rows) == truth(recording)["spans"]
    assert meta["spans"] == spans(recording).to_json()["rows"]
    # Two spans that read the same are one path, however many there are.
    assert len(meta["spanPaths"]) == 4 < len(rows)


def test_contexts_that_read_the_same_are_one(recording: Recording) -> None:
    parent, function, near = columns_of(Bundle(recording, sources=False).contexts)
    rows = list(zip(np.cumsum(zigzagged(parent)).tolist(), function, near, strict=True))
    assert len(set(rows)) == len(rows) < len(recording.contexts)
    assert all(parent < i for i, (parent, _, _) in enumerate(rows))


def test_waits_are_those_of_the_view(recording: Recording) -> None:
    rows = truth(recording)["waits"]
    view = locks(recording)
    assert sum(row[3] for row in rows) == view.total_ns
    assert len({row[0] for row in rows}) == view.count
    flags, *_ = columns_of(Bundle(recording, sources=False).waits)
    assert sum(bool(flag & 32) for flag in flags) == view.count


def test_meta_is_what_the_reports_say(recording: Recording) -> None:
    meta = meta_of(recording)
    assert meta["summary"] == json.loads(json.dumps(summary(recording).to_json()))
    assert meta["quality"] == json.loads(json.dumps(quality(recording).to_json()))
    assert [thread["label"] for thread in meta["threads"]] == truth(recording)["labels"]
    assert len(meta["marks"]) == 2
    assert meta["counts"]["samples"] == len(recording.samples)


def test_an_empty_recording_has_parts(tmp_path: Path) -> None:
    recording = read(Maker().write(str(tmp_path / "empty.sonde")))
    bundle = Bundle(recording, sources=True)
    assert all(bundle.part(name) for name in PARTS)
    assert columns_of(bundle.samples) == [[]] * 7


def test_hostile_names_pass_unchanged(tmp_path: Path) -> None:
    recording = read(hostile().write(str(tmp_path / "hostile.sonde")))
    meta = meta_of(recording)
    assert {row[0] for row in meta["functions"]} >= set(recording.functions.name)
    assert any(row[0] == HOSTILE[0] for row in meta["functions"])
    assert meta["marks"][0]["text"] == HOSTILE[0]


def test_numbers_of_the_page_follow_a_selection(recording: Recording) -> None:
    """The rule the page uses for a range of time gives what the view gives."""
    start, end = 40 * MS, 90 * MS
    view = locks(recording, Selection(start_ns=start, end_ns=end))
    inside = [
        (row[0], min(row[2] + row[3], end) - max(row[2], start))
        for row in truth(recording)["waits"]
        if row[2] + row[3] > start and row[2] < end
    ]
    assert sum(ns for _, ns in inside) == view.total_ns
    assert len({wait for wait, _ in inside}) == view.count


def test_counted_calls_are_those_of_the_view(recording: Recording) -> None:
    bundle = Bundle(recording, sources=False)
    meta = json.loads(inflated(bundle.meta))
    parent, _, _ = columns_of(bundle.contexts)
    thread, time, window, node, weight = columns_of(bundle.calls)
    assert thread == recording.windows.thread.tolist()
    assert np.cumsum(zigzagged(time)).tolist() == recording.windows.time.tolist()
    assert np.cumsum(zigzagged(window)).tolist() == recording.calls.window.tolist()
    assert len(node) == meta["counts"]["calls"] == calls(recording).count
    assert max(node) <= len(parent)
    # What has no stack is an edge of its own in the view.
    (lost,) = (edge for edge in calls(recording).edges if edge.callee.name == "[undecodable]")
    nowhere = sum(w for n, w in zip(node, weight, strict=True) if n == 0)
    assert nowhere / sum(weight) == pytest.approx(lost.weight)


def test_advice_names_functions_of_the_page(tmp_path: Path) -> None:
    make = Maker()
    make.define("loop", str(tmp_path / "gone.py"), 1)
    make.window(["loop:3 > leaf:1"] * 9 + ["loop:1"], 0, MS)
    (piece,) = meta_of(make.recording())["advice"]
    assert (piece["kind"], piece["line"], piece["weight"]) == ("loop", 3, pytest.approx(0.9))
    assert meta_of(make.recording())["functions"][piece["caller"]][0] == "loop"
    assert piece["said"] == ("batch the call of leaf: it runs many times per call of its function")
    assert meta_of(Maker().recording())["advice"] == []


class TestSources:
    def made(self, tmp_path: Path, file: Path) -> Bundle:
        make = Maker()
        make.define("f", str(file), 1)
        make.sample("f:1")
        return Bundle(read(make.write(str(tmp_path / "app.sonde"))), sources=True)

    def test_a_source_the_recording_names(self, tmp_path: Path) -> None:
        file = tmp_path / "code.py"
        file.write_text("print('é')\n\n# end")
        bundle = self.made(tmp_path, file)
        assert bundle.source(str(file)) == file.read_text()
        assert json.loads(inflated(bundle.part("sources"))) == {str(file): file.read_text()}

    def test_a_script_without_a_suffix(self, tmp_path: Path) -> None:
        file = tmp_path / "script"
        file.write_text("#!/usr/bin/env python3\nprint()\n")
        assert self.made(tmp_path, file).source(str(file)) == file.read_text()

    @pytest.mark.parametrize("text", ["secret", "#!/bin/sh\n", "a\0b"])
    def test_other_files_are_not_given_away(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "key"
        file.write_text(text)
        bundle = self.made(tmp_path, file)
        assert bundle.source(str(file)) is None
        assert json.loads(inflated(bundle.part("sources"))) == {}

    def test_files_the_recording_does_not_name(self, tmp_path: Path) -> None:
        other = tmp_path / "other.py"
        other.write_text("print()")
        assert self.made(tmp_path, tmp_path / "code.py").source(str(other)) is None


@pytest.mark.parametrize(
    ("name", "file", "module"),
    [
        ("f", "/app/main.py", "main"),
        ("f", "/app/shop/__init__.py", "shop"),
        ("f", "/usr/lib/python3.12/json/decoder.py", "json"),
        ("f", "/usr/lib/python3.12/threading.py", "threading"),
        ("f", "/env/lib/python3.12/site-packages/django/db/models.py", "django"),
        ("f", "/usr/lib/python3/dist-packages/six.py", "six"),
        ("time.sleep", "<built-in>", "built-in"),
        ("f", "<frozen importlib._bootstrap>", "importlib"),
        ("[undecodable]", "", ""),
        ("f", "<string>", "<string>"),
    ],
)
def test_modules_are_what_readers_call_them(name: str, file: str, module: str) -> None:
    assert module_of(Function(name, file, 1, "cpython")) == module


def test_samples_beyond_the_limit_are_merged_and_sums_stay(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def totals(columns: list[list[int]]) -> dict[tuple[int, ...], int]:
        thread, _, context, weight, state, _, _ = columns
        found: dict[tuple[int, ...], int] = {}
        numbers = list(accumulate(zigzagged(thread)))
        for at, stack, ns, how in zip(numbers, context, zigzagged(weight), state, strict=True):
            found[at, stack, how] = found.get((at, stack, how), 0) + ns
        return found

    whole = columns_of(Bundle(recording, sources=False).samples)
    monkeypatch.setattr("sonde.web.bundle.MAX_SAMPLES", 5)
    few = Bundle(recording, sources=False)
    merged = columns_of(few.samples)
    assert len(merged[0]) < len(whole[0])
    assert totals(merged) == totals(whole)
    told = json.loads(inflated(few.meta))
    assert told["counts"]["samples"] == len(merged[0])
    problem = told["quality"]["problems"][0]
    assert problem["title"] == "times are coarser here than in the recording"
    assert f"shows {len(whole[0]):,} samples merged into {len(merged[0]):,}" in problem["detail"]


def test_objects_are_those_of_the_view() -> None:
    recording = recording_of(
        [
            Allocation(-5, "main:1 > keep:5", size=300),
            Allocation(10, "main:1 > keep:5", size=500, freed=20, thread="worker"),
            Allocation(15, None, size=700),
        ]
    )
    meta = meta_of(recording)
    assert (meta["counts"]["objects"], meta["survival"]) == (3, True)
    thread, time, length, context, size = columns_of(Bundle(recording, sources=False).objects)
    assert thread == [0, 1, 0]
    assert list(accumulate(zigzagged(time))) == [-5 * MS, 10 * MS, 15 * MS]
    assert length == [0, 10 * MS + 1, 0]
    assert (context[0], context[2]) == (context[1], 0)
    found = objects(recording)
    assert found.survival is not None
    assert size[0] + size[2] == pytest.approx(found.survival.live_bytes, abs=3)
