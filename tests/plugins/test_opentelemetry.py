"""Traces of a program that uses OpenTelemetry's real SDK, in recordings of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

from launching import TARGETS, TESTS, TIMEOUT_S, clean_environment, sonde
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.span_filter import SpanAttribute
from sonde.views.spans import spans
from sonde.views.stacks.flat import flat

from .web_server import time_in


class Traced:
    """A recording of tests/targets/traced.py, and the ids of its two checkouts."""

    def __init__(self, path: Path, kind: str) -> None:
        done = subprocess.run(
            [sys.executable, TARGETS / "traced.py", path, kind],
            env=clean_environment(PYTHONPATH=str(TESTS.parent / "src")),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.path = path
        self.checkouts: list[list[str]] = json.loads(done.stdout)
        self.recording: Recording = read(path)

    def ids(self, name: str) -> list[tuple[str | None, str | None]]:
        table = self.recording.spans
        return [
            (attributes.get("trace_id"), attributes.get("span_id"))
            for row, attributes in zip(table.name, table.attributes, strict=True)
            if row == name
        ]


@pytest.fixture(scope="module")
def mirrored(keep: Callable[[str], Path]) -> Traced:
    return Traced(keep("mirrored"), "processor")


@pytest.fixture(scope="module")
def plain(keep: Callable[[str], Path]) -> Traced:
    return Traced(keep("plain"), "none")


def test_spans_of_sonde_carry_the_ids_of_the_current_span(plain: Traced) -> None:
    assert plain.ids("payment") == [tuple(ids) for ids in plain.checkouts]
    assert plain.ids("alone") == [(None, None)]
    assert set(plain.recording.spans.name) == {"payment", "alone"}


def test_spans_of_opentelemetry_are_spans(mirrored: Traced) -> None:
    rows = {row.name: row for row in spans(mirrored.recording).rows}
    counts = {name: row.count for name, row in rows.items()}
    assert counts == {
        "checkout": 2, "payment": 2, "parcel sent": 2, "decorated": 1, "by hand": 1, "fails": 1,
        "red": 1, "blue": 1, "alone": 1,
    }  # fmt: skip
    assert not any(row.open for row in rows.values())
    assert mirrored.ids("checkout") == [tuple(ids) for ids in mirrored.checkouts]
    table = mirrored.recording.spans
    parents = {
        (name, table.name[parent] if parent >= 0 else None)
        for name, parent in zip(table.name, table.parent.tolist(), strict=True)
    }
    assert {("payment", "checkout"), ("parcel sent", "checkout"), ("alone", None)} <= parents
    attributes = table.attributes[table.name.index("fails")]
    assert attributes["otel.status_code"] == "ERROR"


def test_work_is_in_the_span_of_the_function_that_started_it(mirrored: Traced) -> None:
    """Also where two tasks take turns on one thread."""
    for name, seconds in (
        ("checkout", 0.6), ("parcel sent", 0.2), ("decorated", 0.1), ("by hand", 0.1),
        ("red", 0.1), ("blue", 0.2),
    ):  # fmt: skip
        assert abs(time_in(mirrored.recording, name) - seconds) < 0.02, name


def test_a_report_answers_for_one_trace(mirrored: Traced) -> None:
    trace = mirrored.checkouts[0][0]
    found = flat(mirrored.recording, Selection(span=SpanAttribute("trace_id", trace)))
    assert 0.28e9 < found.total_ns < 0.32e9
    done = sonde("report", mirrored.path, "flat", "--trace", f"0x{trace.upper()}", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"] == found.total_ns
    wrong = sonde("report", mirrored.path, "flat", "--trace", "0" * 32)
    assert wrong.returncode == 2
    assert f"no trace '{'0' * 32}'" in wrong.stderr


def test_exported_profiles_link_to_the_trace(mirrored: Traced, tmp_path: Path) -> None:
    out = tmp_path / "profile.pb"
    done = sonde("export", mirrored.path, "--to", "otlp", "-o", out)
    assert done.returncode == 0, done.stderr
    data = ProfilesData.FromString(out.read_bytes())
    links = data.dictionary.link_table
    assert (links[0].trace_id, links[0].span_id) == (b"", b"")
    linked: dict[str, int] = {}
    for scope in data.resource_profiles[0].scope_profiles:
        for profile in scope.profiles:
            for sample in profile.samples:
                trace = links[sample.link_index].trace_id.hex()
                linked[trace] = linked.get(trace, 0) + sum(sample.values)
    for trace, _ in mirrored.checkouts:
        assert 0.28e9 < linked[trace] < 0.32e9
    assert linked[""] > 0.08e9
