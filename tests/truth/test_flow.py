"""The call flow is exact: calls, resumptions, exceptions, C functions, threads, instructions."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from environments import Environment
from launching import Run, must_run, sonde
from matrix import soak
from sonde.views.flow.flow import Flow, FlowRow, flow
from sonde.views.flow.flow_events import flow_events
from truth.stacks import PROGRAMS

PROGRAM = PROGRAMS / "flow.py"


def own(result: Flow) -> dict[str, FlowRow]:
    return {row.function.name: row for row in result.rows if row.function.file == str(PROGRAM)}


@pytest.fixture(scope="module")
def recorded(environment: Environment, keep: Callable[[str], Path]) -> Run:
    return must_run(
        keep("flow"), [environment.path, PROGRAM], "--what", "flow", "--flow-c", "--flow-events"
    )


@pytest.fixture(scope="module")
def rows(recorded: Run) -> dict[str, FlowRow]:
    return own(flow(recorded.recording))


def test_numbers_of_calls_are_exact(recorded: Run, rows: dict[str, FlowRow]) -> None:
    bodies = recorded.told["bodies"]
    true = {
        name: tuple(bodies * count for count in counts)
        for name, counts in recorded.told["true"].items()
    }
    found = {
        name: (row.numbers.calls, row.numbers.resumptions, row.numbers.exceptions)
        for name, row in rows.items()
        if name in true
    }
    assert found == true
    assert rows["fib"].numbers.recursion == bodies * (true["fib"][0] // bodies - 1)


def test_calls_of_c_functions_are_exact(recorded: Run) -> None:
    bodies = recorded.told["bodies"]
    nodes = flow(recorded.recording).nodes
    calls: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        if node.parent is not None:
            caller = nodes[node.parent].function.name
            calls[node.function.name, caller] += node.numbers.calls
    assert calls["hash", "natives"] == 70 * bodies
    assert calls["sorted", "body"] == bodies
    assert calls["key", "sorted"] == 60 * bodies


def test_the_tree_adds_up(recorded: Run) -> None:
    result = flow(recorded.recording)
    total = {node.id: node.numbers.base for node in result.nodes}
    for node in reversed(result.nodes):
        if node.parent is not None:
            total[node.parent] += total[node.id]
    assert total == {node.id: node.numbers.total for node in result.nodes}
    assert result.calibrated
    assert not result.lost_calls


def test_events_are_the_tree_in_order(recorded: Run, rows: dict[str, FlowRow]) -> None:
    found = flow_events(recorded.recording)
    assert not found.lost
    for name, row in rows.items():
        events = [event for event in found.rows if event.function == row.function]
        kinds = [event.kind for event in events]
        assert kinds.count("entry") == row.numbers.calls, name
        assert kinds.count("unwind") == row.numbers.exceptions, name
    assert len({event.tid for event in found.rows if event.function.name == "body"}) == 4


@pytest.mark.parametrize("runs", [2, soak(10)])
def test_instructions_repeat_exactly(
    environment: Environment, keep: Callable[[str], Path], runs: int
) -> None:
    seen = [
        must_run(
            keep(f"instructions-{run}"), [environment.path, PROGRAM],
            "--what", "flow", "--flow-metric", "instructions", "--flow-in", "__main__",
        ).recording
        for run in range(runs)
    ]  # fmt: skip
    first, *others = (
        {
            name: row.numbers
            for name, row in own(flow(recording)).items()
            # They import, and start threads: how much of `threading` runs then depends on time.
            if name not in ("<module>", "main")
        }
        for recording in seen
    )
    assert first["fib"].base > first["fib"].calls
    assert all(other == first for other in others)


FAULTS = """
import mmap, time
def touches(pages):
    with mmap.mmap(-1, pages * 4096) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            memory[page * 4096] = 1
def sleeps(times):
    for _ in range(times):
        time.sleep(0.0005)
for _ in range(10):
    touches(300)
    sleeps(30)
"""


def test_faults_and_switches_by_function(
    any_python: object, keep: Callable[[str], Path], tmp_path: Path
) -> None:
    script = tmp_path / "faults.py"
    script.write_text(FAULTS)
    command = [os.fspath(getattr(any_python, "path")), script]
    bases = {}
    for metric in ("page-faults", "context-switches"):
        options = ("--what", "flow", "--flow-metric", metric, "--flow-in", "__main__")
        found = flow(must_run(keep(metric), command, *options).recording)
        assert found.metric == metric
        bases[metric] = {row.function.name: row.numbers.base for row in found.rows}
    assert 3000 <= bases["page-faults"]["touches"] < 3100
    assert bases["page-faults"]["sleeps"] < 50
    assert bases["context-switches"]["sleeps"] >= 300


def test_only_a_function(any_python: object, tmp_path: Path) -> None:
    path = os.fspath(getattr(any_python, "path"))
    done = must_run(
        tmp_path / "in.sonde", [path, PROGRAM], "--what", "flow", "--flow-in", "passes_on"
    )
    found = flow(done.recording)
    bodies = done.told["bodies"]
    calls = {row.function.name: row.numbers.calls for row in found.rows}
    assert calls == {"passes_on": 40 * bodies, "fails": 40 * bodies}
    shown = sonde("report", done.path, "flow", "--json")
    assert json.loads(shown.stdout)["metric"] == "cpu_ns"
