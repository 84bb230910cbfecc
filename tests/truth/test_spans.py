"""Spans hold what happened in them and nothing else, on every interpreter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import attach, until
from environments import Environment
from launching import TIMEOUT_S, TESTS, Run, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from sonde.views.stacks.flat import flat
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from sonde.views.spans import SpanRow, spans
from sonde.views.threads import threads
from truth.stacks import PROGRAMS

SOURCE = str(TESTS.parent / "src")
PERIOD = 500_000
# A sample at either edge of each visit, and what the estimated CPU clock may lag (native/core/sampling/sigtrap.c).
EDGES = {"red": 15, "blue": 15, "decorated": 10, "numbers": 5}


@pytest.fixture(scope="module")
def recorded(environment: Environment, keep: Callable[[str], Path]) -> Run:
    return must_run(
        keep("spans"),
        [environment.path, PROGRAMS / "spans.py"],
        "--rate", "2000", "--what", "cpu,waits,locks",
        env=clean_environment(PYTHONPATH=SOURCE),
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows(recorded: Run) -> dict[str, SpanRow]:
    return {row.name: row for row in spans(recorded.recording).rows}


def test_cpu_time_is_that_of_the_span(recorded: Run, rows: dict[str, SpanRow]) -> None:
    spent = recorded.told["spent"]
    true = {name: spent[name] for name in (*EDGES, "plain", "inner", "stacked", "recursive")}
    true["outer"] = spent["outer"] + spent["inner"] + spent["stacked"]
    true["shared"] = spent["shared0"] + spent["shared1"]
    true["resumed"] = spent["resumed"]
    wrong = {
        name: (ns, rows[name].cpu_ns)
        for name, ns in true.items()
        # Each visit may gain or lose what is left of a period at its edges.
        if abs(rows[name].cpu_ns - ns) > PERIOD * (4 + 2 * EDGES.get(name, 0) ** 0.5 * 2)
    }
    assert not wrong
    assert rows["paused"].cpu_ns <= PERIOD


def test_other_tasks_are_in_no_span_of_this_one(recorded: Run) -> None:
    """Red and blue are the same function on the same thread, at the same time."""
    recording, spent = recorded.recording, recorded.told["spent"]
    for name in ("red", "blue", "decorated"):
        found = flat(recording, Selection(span=name))
        assert "free" not in {row.function.name for row in found.rows}
        assert abs(found.total_ns - spent[name]) <= PERIOD * (4 + 4 * EDGES[name] ** 0.5)
    consumed = flat(recording, Selection(span="numbers"))
    assert abs(consumed.total_ns - spent["numbers"]) <= PERIOD * 14


def test_nesting_counts_and_wall_time(recorded: Run, rows: dict[str, SpanRow]) -> None:
    table = recorded.recording.spans
    names = {table.name[i]: table.name[p] if p >= 0 else None for i, p in enumerate(table.parent)}
    assert names["inner"] == names["stacked"] == "outer"
    assert names["plain"] is names["red"] is names["outer"] is None
    assert rows["recursive"].count == 4
    assert rows["shared"].count == 4
    assert rows["plain"].count == 1
    assert not any(row.open for row in rows.values())
    assert recorded.recording.quality["events_lost"] == 0
    for row in rows.values():
        assert row.p50_ns <= row.p99_ns <= row.max_ns <= row.wall_ns
    assert rows["red"].wall_ns >= sum(
        recorded.told["spent"][name] for name in ("red", "blue", "decorated")
    )


def test_waits_and_locks_are_asked_for_by_span(recorded: Run, rows: dict[str, SpanRow]) -> None:
    recording, told = recorded.recording, recorded.told
    slack = 5_000_000
    assert abs(rows["locked"].lock_wait_ns - told["locked"]) <= slack
    by_kind = rows["locked"].wait_ns
    assert by_kind["lock"] + by_kind.get("gil", 0) == rows["locked"].lock_wait_ns
    assert rows["asleep"].lock_wait_ns <= slack
    assert abs(sum(rows["asleep"].wait_ns.values()) - told["asleep"]) <= slack
    assert rows["plain"].wait_ns.get("lock", 0) == 0
    found = locks(recording, Selection(span="locked"), by=("owner_thread",))
    owned = {row.value: row.wait_ns for row in found.rows}
    assert owned.get("holder", 0) >= told["locked"] - slack
    (main,) = threads(recording, Selection(span="asleep")).rows
    assert main.name == "MainThread"
    assert abs(main.wall_ns - told["asleep"]) <= slack


def test_marks_and_pauses_of_the_program(recorded: Run) -> None:
    recording = recorded.recording
    assert recording.marks.text == ["begun", "still here"]
    assert recording.threads.name[recording.marks.thread[0]] == "MainThread"
    assert len(recording.pauses) == 1
    found = flat(recording, Selection())
    assert recording.quality["paused_ns"] >= recorded.told["spent"]["paused"]
    assert found.total_ns < sum(recorded.told["spent"].values()) + 300_000_000


LATER = """
import os, sys, time, sonde
with sonde.span("before"):
    pass
print(os.getpid(), flush=True)
sys.stdin.readline()
with sonde.span("after"):
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
sonde.mark("here")
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_program_that_is_attached_to(
    environment: Environment, keep: Callable[[str], Path]
) -> None:
    """It had imported sonde and used a span when nobody was there."""
    path = keep("later")
    with subprocess.Popen(
        [environment.path, "-c", LATER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=SOURCE),
    ) as target:
        assert target.stdin is not None
        assert target.stdout is not None
        pid = int(target.stdout.readline())
        attached = attach(pid, path)
        until(lambda: sonde("ctl", str(pid), "status").returncode == 0, "a session", by=attached)
        target.stdin.write("go\n")
        target.stdin.flush()
        assert target.stdout.readline() == "done\n"
        sonde("ctl", str(pid), "stop")
        attached.communicate(timeout=TIMEOUT_S)
        target.stdin.close()
        assert target.wait(TIMEOUT_S) == 0
    recording = read(path)
    (row,) = spans(recording).rows
    assert (row.name, row.count) == ("after", 1)
    assert abs(row.cpu_ns - 100_000_000) < 5_000_000
    assert recording.marks.text == ["here"]


API = """
import json, sys, time, sonde
def work():
    with sonde.span("inside"):
        end = time.thread_time() + 0.06
        while time.thread_time() < end:
            pass
work()
for name in sys.argv[1:]:
    with sonde.record(name) as session:
        work()
work()
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_program_that_records_itself(environment: Environment, tmp_path: Path) -> None:
    paths = [tmp_path / "one.sonde", tmp_path / "two.sonde"]
    subprocess.run(
        [environment.path, "-c", API, *paths],
        env=clean_environment(PYTHONPATH=SOURCE),
        check=True,
        timeout=TIMEOUT_S,
    )
    for path in paths:
        (row,) = spans(read(path)).rows
        assert (row.name, row.count, row.open) == ("inside", 1, 0)
        assert abs(row.cpu_ns - 60_000_000) < 5_000_000


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_every_view_takes_a_span(recorded: Run) -> None:
    path = str(recorded.path)
    for view in (
        "summary",
        "tree",
        "flat",
        "lines",
        "locks",
        "lock-table",
        "waits",
        "threads",
        "spans",
    ):
        done = sonde("report", path, view, "--span", "outer", "--json")
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
    wrong = sonde("report", path, "flat", "--span", "nothing")
    assert wrong.returncode == 2
    assert "no span 'nothing'" in wrong.stderr
    told = sonde("report", path, "spans").stdout
    assert "recursive" in told
    assert "The slowest span is" in sonde("report", path).stdout
