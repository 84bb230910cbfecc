"""Who releases monitors, and waits for them, deep in the VM: on every JDK found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from java import Jdk, compiled
from launching import Run, must_run
from matrix import soak
from shared import run_folder

from sonde.views.locks.locks import locks
from sonde.views.quality import quality

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
NAMED = 0.95
UNKNOWN = 0.02
WITHOUT_STACK = 0.02
COMPILERS = {"c1": "-XX:TieredStopAtLevel=1", "c2": "-XX:+TieredCompilation"}
INLINED = ["deposit", "withdraw", "audit", "reset", "refuse"]
ROUNDS = "8"
TURNS = "150"
# As many waits as there must be: the first steps of each thread are waits without a Java frame.
ENOUGH_WAITS = 600


@pytest.fixture(scope="session")
def record(
    jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Run]:
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")

    def get(what: str, compiler: str, *program: str) -> Run:
        options = [COMPILERS[compiler], "-XX:CompileCommand=quiet"]
        options.append("-XX:CompileCommand=dontinline,Inlined::keep")
        command = [jdk.java, "-Xmx256m", *options, "-cp", classes, *program]
        name = f"{program[0]}-{compiler}-{what.replace(',', '-')}-{jdk}"
        return must_run(keep(name), command, "--what", what)

    return get


def monitor_rows(run: Run) -> list[dict[str, Any]]:
    """The waiting for monitors by the call stack of the holder."""
    rows = locks(run.recording, by=("kind", "owner_chain"), chains=False).to_json()["rows"]
    return [child for row in rows if row["key"]["kind"] == "monitor" for child in row["children"]]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("what", ["cpu,locks", "cpu,locks,waits"])
def test_inlined_synchronized_methods_are_named(
    record: Callable[..., Run], compiler: str, what: str
) -> None:
    run = record(what, compiler, "Inlined", ROUNDS)
    charged = dict.fromkeys(INLINED, 0)
    for row in monitor_rows(run):
        innermost = (row["key"]["owner_chain"] or [{"name": ""}])[-1]["name"]
        if innermost.startswith("Inlined$Account."):
            charged[innermost.rpartition(".")[2]] += row["wait_ns"]
    for method, spent in run.told["spent"].items():
        assert charged[method] >= NAMED * spent, (charged, run.told["spent"])


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "what", ["locks", soak("cpu,locks"), soak("locks,waits"), "cpu,locks,waits"]
)
def test_holders_are_known_whatever_is_recorded(
    record: Callable[..., Run], compiler: str, what: str
) -> None:
    run = record(what, compiler, "Crowded", TURNS)
    rows = monitor_rows(run)
    waited = sum(row["wait_ns"] for row in rows)
    unknown = [row for row in rows if row["key"]["owner_chain"] is None]
    assert waited > 0
    # But for the longest: the scheduler makes a single one as long as it likes.
    longest = max((row["max_ns"] for row in unknown), default=0)
    assert sum(row["wait_ns"] for row in unknown) - longest <= UNKNOWN * waited
    if "waits" in what:
        have_stacks(run)


def test_waits_have_stacks_without_locks(record: Callable[..., Run]) -> None:
    run = record("cpu,waits", "c2", "Crowded", TURNS)
    have_stacks(run)
    assert len(run.recording.lock_events) == 0


def have_stacks(run: Run) -> None:
    counters = quality(run.recording).counters
    waits = counters["taken"] - counters["running_samples"]
    assert waits >= ENOUGH_WAITS
    assert counters["undecodable_waits"] <= WITHOUT_STACK * waits
    assert counters["undecodable_waits"] <= counters["undecodable"]
