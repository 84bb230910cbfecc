"""What a program states about its spans, and work that other threads do for one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from environments import Environment
from launching import TESTS, TIMEOUT_S, Run, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read_parts
from sonde.recording.tables import Recording
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.span_filter import SpanAttribute
from sonde.views.stacks.flat import flat
from truth.stacks import PROGRAMS

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

PROGRAM = PROGRAMS / "span_attributes.py"
SOURCE = str(TESTS.parent / "src")
ROUTE = "GET /books/{id}"


@pytest.fixture(scope="module")
def recorded(environment: Environment, keep: Callable[[str], Path]) -> Run:
    return must_run(
        keep("attributes"), [environment.path, PROGRAM], env=clean_environment(PYTHONPATH=SOURCE)
    )


def attributes(recording: Recording, name: str) -> dict[str, str]:
    return recording.spans.attributes[recording.spans.name.index(name)]


def test_the_last_value_of_an_attribute_counts(recorded: Run) -> None:
    recording = recorded.recording
    assert recording.spans.name == [ROUTE, "worker", "plain", "renamed"]
    assert attributes(recording, ROUTE) == {"status": "500", "text": "a=b\u00e9"}
    assert attributes(recording, "plain") == {}
    assert attributes(recording, "renamed") == {"before": "1", "after": "2"}
    assert recording.quality["events_lost"] == 0


def test_a_part_in_another_thread_belongs_to_the_span(recorded: Run) -> None:
    """The agent took 1,000 samples a second of 200 ms there."""
    recording = recorded.recording
    table = recording.spans
    assert table.parent.tolist() == [-1, 0, -1, -1]
    assert table.thread[0] != table.thread[1]
    for choice in (ROUTE, SpanAttribute("status", "500"), "worker"):
        assert 170e6 < flat(recording, Selection(span=choice)).total_ns < 230e6


def test_reports_select_by_attribute(recorded: Run) -> None:
    done = sonde("report", recorded.path, "flat", "--attribute", "status=500")
    assert done.returncode == 0, done.stderr
    assert "burn" in done.stdout
    for options, sentence in (
        (["--attribute", "status=200"], "no span with status '200' in"),
        (["--attribute", "status"], "invalid --attribute 'status'; give KEY=VALUE"),
        (["--trace", "abc"], "no trace 'abc' in"),
        (["--trace", "abc", "--span", "plain"], "--span and --trace cannot be combined"),
    ):
        done = sonde("report", recorded.path, "flat", *options)
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def test_a_span_over_a_segment_boundary_has_all_of_its_attributes(
    environment: Environment, tmp_path: Path
) -> None:
    subprocess.run(
        [environment.path, PROGRAM, tmp_path / "app.sonde"],
        env=clean_environment(PYTHONPATH=SOURCE),
        timeout=TIMEOUT_S,
        check=True,
    )
    paths = sorted(tmp_path.glob("*.sonde"))
    assert len(paths) == 2
    joined = read_parts([str(path) for path in paths])
    assert joined.spans.name == [ROUTE, "worker", "plain", "renamed"]
    assert attributes(joined, "renamed") == {"before": "1", "after": "2"}
    alone = read_parts([str(paths[1])])
    assert alone.spans.name == ["renamed"]
    assert attributes(alone, "renamed") == {"before": "1", "after": "2"}
