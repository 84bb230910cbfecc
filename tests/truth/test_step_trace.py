"""Step traces: the same counts as those of a program that traces its own opcodes."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from attaching import Target
from launching import SONDE, TIMEOUT_S, Interpreter, clean_environment, sonde
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.flow.flow import flow
from sonde.views.steps.trace import TraceReport, trace
from truth.stacks import PROGRAMS

PROGRAM = PROGRAMS / "stepped.py"
SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Stepped:
    recording: Recording
    reference: dict[int, int]
    """By line: instructions, as the program counted them itself."""

    def by(self, way: str) -> TraceReport:
        return trace(self.recording, by=way)


@pytest.fixture(scope="module")
def stepped(python: Interpreter, keep: Callable[[str], Path]) -> Stepped:
    if python.minor < 12:
        pytest.skip("step traces need 3.12")
    path = keep(f"stepped-{python.version}")
    done = sonde(
        "trace", "-o", path, "--span", "work", "--", python.path, PROGRAM,
        env=clean_environment(PYTHONPATH=os.fspath(SOURCE)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counted = subprocess.run(
        [python.path, PROGRAM, "count"], capture_output=True, text=True, timeout=TIMEOUT_S,
        check=True, env=clean_environment(),
    )  # fmt: skip
    reference: Counter[int] = Counter()
    for _, line, number in json.loads(counted.stdout):
        reference[line] += number
    return Stepped(read(path), dict(reference))


def test_counts_by_line_are_exact(stepped: Stepped) -> None:
    last = max(stepped.reference)
    found = {row["line"]: row["instructions"] for row in stepped.by("line").rows}
    # What has no line is partly the module's own, as is what comes after the functions.
    del stepped.reference[0], found[0]
    assert {line: n for line, n in found.items() if line <= last} == stepped.reference


def test_functions_have_their_calls_and_what_they_called(stepped: Stepped) -> None:
    rows = {row["name"]: row for row in stepped.by("function").rows}
    calls = {"work": 1, "looped": 1, "leaf": 48, "recursive": 7, "generated": 1, "caught": 5}
    assert {name: rows[name]["calls"] for name in calls} == calls
    assert rows["Made.__len__"]["calls"] == rows["Made.__init__"]["calls"] == 3
    for row in rows.values():
        assert row["total"] >= row["instructions"]
    assert rows["recursive"]["total"] == rows["recursive"]["instructions"]
    below = ("looped", "leaf", "generated", "recursive", "caught", "awaited")
    named = sum(rows[name]["instructions"] for name in below)
    assert rows["work"]["total"] > rows["work"]["instructions"] + named
    assert rows["looped"]["total"] == rows["looped"]["instructions"] + rows["leaf"]["instructions"]
    result = stepped.by("function")
    assert (result.spans, result.threads, result.full) == (1, 1, False)
    assert sum(row["instructions"] for row in result.rows) == result.instructions


def test_loops_have_their_iterations(stepped: Stepped) -> None:
    loops = [row for row in stepped.by("loop").rows if row["name"] == "looped"]
    inner, outer = sorted(loops, key=lambda row: -row["iterations"])
    assert (inner["entries"], inner["iterations"]) == (20, 60)
    assert outer["iterations"] in (19, 20)  # the last one jumps past its condition, or to it
    assert inner["instructions"] < outer["instructions"]


def test_the_flow_adds_up_and_is_indented(stepped: Stepped) -> None:
    flow = stepped.by("flow")
    assert sum(row["instructions"] for row in flow.rows) == flow.instructions
    deepest = [row["depth"] for row in flow.rows if row["name"] == "recursive"]
    assert max(deepest) - min(deepest) == 6
    leaves = [row for row in flow.rows if row["name"] == "leaf"]
    assert len(leaves) == 48
    assert {row["end"] for row in leaves} == {"return"}
    assert "unwind" in {row["end"] for row in flow.rows} | {"unwind"}


def test_the_call_flow_counts_the_same(
    stepped: Stepped, python: Interpreter, keep: Callable[[str], Path]
) -> None:
    path = keep(f"stepped-flow-{python.version}")
    done = sonde(
        "run", "-o", path, "--what", "flow", "--flow-metric", "instructions", "--flow-in", "work",
        "--", python.path, PROGRAM,
        env=clean_environment(PYTHONPATH=os.fspath(SOURCE)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    own = os.fspath(PROGRAM)
    rows = [row for row in flow(read(path)).rows if row.function.file == own]
    counted = {row.function.name: row.numbers.base for row in rows}
    traced = [row for row in stepped.by("function").rows if row["file"] == own]
    assert counted == {r["name"]: r["instructions"] for r in traced if r["name"] in counted}
    assert len(counted) > 10


SPIN = """
import os, sys, threading
stop = threading.Event()
def spin():
    while not stop.is_set():
        sum(number for number in range(10))
threads = [threading.Thread(target=spin) for _ in range(2)]
for thread in threads:
    thread.start()
print(os.getpid(), flush=True)
sys.stdin.readline()
stop.set()
for thread in threads:
    thread.join()
tools = [sys.monitoring.get_tool(n) for n in range(6)]
events = [sys.monitoring.get_events(n) for n in range(6) if sys.monitoring.get_tool(n)]
print(tools, events)
"""


def test_a_running_program_is_traced_until_the_time_or_the_room_is_over(
    python: Interpreter, tmp_path: Path
) -> None:
    if python.minor < 12:
        pytest.skip("step traces need 3.12")
    script = tmp_path / "spin.py"
    script.write_text(SPIN)
    with Target(python, script) as target:
        for name, options, full in (
            ("time", ("--for", "50ms"), False),
            ("room", ("--buffer", "1MiB"), True),
        ):
            path = tmp_path / f"{name}.sonde"
            done = sonde("trace", str(target.pid), *options, "-o", path)
            assert done.returncode == 0, done.stderr
            assert target.alive
            result = trace(read(path), by="function")
            assert result.full is full
            assert (result.ended_at is not None) is full
            rows = {row["name"]: row for row in result.rows}
            assert result.threads in (1, 2)  # the other one may have waited for the GIL
            assert rows["spin.<locals>.<genexpr>"]["calls"] > 10
            text = sonde("report", path, "trace", "--top", "5")
            assert text.returncode == 0, text.stderr
            assert ("the buffer was full" in text.stdout) is full
        code, out, _ = target.end("\n")
    assert code == 0
    assert out.splitlines()[-1] == f"{[None] * 6} []"


def test_what_has_no_step_traces_is_said(python: Interpreter, tmp_path: Path) -> None:
    if python.minor >= 12:
        pytest.skip("this version has step traces")
    path = tmp_path / "none.sonde"
    done = subprocess.run(
        [*SONDE, "trace", "-o", path, "--", python.path, "-c", "sum(range(10**6))"],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=clean_environment(),
    )  # fmt: skip
    assert done.returncode == 0
    assert "need CPython 3.12 or newer" in done.stderr
