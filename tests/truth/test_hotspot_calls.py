"""Counted calls of Java programs: their shares are the true ones, and nothing is left after it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import attach, begun, until
from java import Jdk, compiled
from launching import TIMEOUT_S, Run, clean_environment, must_run
from shared import run_folder
from sonde.recording.tables import Recording
from sonde.views.calls.calls import calls

Keep = Callable[[str], Path]
Edge = tuple[str, str]

SOURCES = Path(__file__).resolve().parent / "hotspot"
# More of each window than usual: what a few seconds show is to be sure.
WINDOWS = ("--what", "calls", "--ticks", "500")
OVERLAP = 0.85
# Calls by a round of Counted.java.
BY_ROUND: dict[Edge, int] = {
    ("Counted.round", "Counted.step"): 100,
    ("Counted.step", "Counted$Often.value"): 75,
    ("Counted.step", "Counted$Rarely.value"): 25,
    ("Counted$Often.value", "Counted.mixed"): 75,
    ("Counted$Rarely.value", "Counted.mixed"): 25,
    ("Counted.round", "Counted.recursive"): 10,
    ("Counted.recursive", "Counted.recursive"): 90,
    ("Counted.recursive", "Counted.mixed"): 10,
    ("Counted.round", "Counted.applied"): 20,
    ("Counted$$Lambda.applyAsLong", "Counted.lambda$round$0"): 20,
    ("Counted.lambda$round$0", "Counted.mixed"): 20,
}
TRUE = {edge: count / sum(BY_ROUND.values()) for edge, count in BY_ROUND.items()}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES, run_folder(tmp_path_factory) / "java-truth")


def shares(recording: Recording) -> dict[Edge, float]:
    found: dict[Edge, float] = {}
    for edge in calls(recording).edges:
        caller = edge.caller.name if edge.caller else ""
        found[caller, edge.callee.name] = found.get((caller, edge.callee.name), 0) + edge.weight
    return found


def overlap(found: dict[Edge, float]) -> float:
    return sum(min(share, found.get(edge, 0.0)) for edge, share in TRUE.items())


def check(recording: Recording) -> None:
    found = shares(recording)
    assert recording.quality["windows"] > 100
    assert "why_no_calls" not in recording.quality
    assert overlap(found) >= OVERLAP, found


@pytest.mark.parametrize("how", ["plain", "threads", "virtual"])
def test_shares_are_the_true_ones(how: str, jdk: Jdk, classes: Path, keep: Keep) -> None:
    if how == "virtual" and jdk.major < 21:
        pytest.skip("no virtual threads before 21")
    run = must_run(keep(how), [jdk.java, "-cp", classes, "Counted", how, "3"], *WINDOWS)
    assert run.out == "right\n"
    check(run.recording)


def test_lines_and_sizes_are_those_of_the_source(jdk: Jdk, classes: Path, keep: Keep) -> None:
    run = must_run(keep("lines"), [jdk.java, "-cp", classes, "Counted", "plain", "1.5"], *WINDOWS)
    result = calls(run.recording)
    sites = {
        (edge.caller.name, edge.callee.name): edge.site_line
        for edge in result.edges
        if edge.caller and edge.weight > 0.01
    }
    lines = (SOURCES / "Counted.java").read_text().splitlines()
    assert "step(x, i)" in lines[sites["Counted.round", "Counted.step"] - 1]
    assert "RARELY : OFTEN" in lines[sites["Counted.step", "Counted$Often.value"] - 1]
    site = next(
        site
        for site in result.advice.sites
        if site.caller.name == "Counted.step"
        and site.targets[0].callee.name == "Counted$Often.value"
    )
    assert site.shape == "dominated"
    # lload, invokestatic, lconst, ladd and lreturn are 7 bytes; the call that counts has 3.
    assert site.targets[0].size == 10


def test_classes_that_are_not_named_are_not_counted(jdk: Jdk, classes: Path, keep: Keep) -> None:
    command = [jdk.java, "-cp", classes, "Counted", "plain", "1.5"]
    run = must_run(keep("named"), command, *WINDOWS, "--calls-in", "Counted$Often")
    assert {callee for _, callee in shares(run.recording)} == {"Counted$Often.value"}
    both = ("--calls-in", "Counted$Often", "--calls-in", "Counted$Rarely")
    run = must_run(keep("both"), command, *WINDOWS, *both)
    found = {callee for _, callee in shares(run.recording)}
    assert found == {"Counted$Often.value", "Counted$Rarely.value"}


def test_classes_come_and_go(jdk: Jdk, classes: Path, keep: Keep) -> None:
    command = [jdk.java, "-Xmx64m", "-cp", classes, "Generated", "1.5"]
    run = must_run(keep("generated"), command, *WINDOWS)
    assert run.recording.quality["calls_counted"] > 0
    assert not any(callee.startswith("java.") for _, callee in shares(run.recording))


def test_an_attached_program_is_as_before(jdk: Jdk, classes: Path, keep: Keep) -> None:
    command = [jdk.java, "-cp", str(classes), "Counted", "wait"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as program:
        assert program.stdin and program.stdout

        def rounds() -> None:
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"

        assert program.stdout.readline() == "ready\n"
        rounds()
        # What the second one sees besides what it asked for, the first one has left behind.
        for within, wanted in ((None, set(TRUE)), ("Counted$Rarely", {next(reversed(TRUE))})):
            path = keep("attached")
            chosen = ("--calls-in", within) if within else ()
            recorder = attach(program.pid, path, *WINDOWS, *chosen)
            until(lambda path=path: begun(path), "the recording", recorder)
            for _ in range(3):
                rounds()
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=TIMEOUT_S)
            assert recorder.returncode == 0, err
            found = {callee for _, callee in shares(Run(0, "", err, path).recording)}
            if within:
                assert found <= {"Counted$Rarely.value"}
            else:
                assert found >= {callee for _, callee in wanted}
            rounds()
        program.stdin.close()
        assert program.wait(TIMEOUT_S) == 0
        assert program.stdout.read() == ""


@pytest.mark.soak
def test_again_and_again_under_load(jdk: Jdk, classes: Path, keep: Keep) -> None:
    how = "virtual" if jdk.major >= 21 else "threads"
    command = [jdk.java, "-cp", str(classes), "Counted", how, "60"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as program:
        assert program.stdout
        for _ in range(10):
            path = keep("again")
            recorder = attach(program.pid, path, "--what", "calls", "--ticks", "2000")
            until(lambda path=path: begun(path), "the recording", recorder)
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=TIMEOUT_S)
            assert recorder.returncode == 0, err
            path.unlink()
        assert program.stdout.read() == "right\n"
        assert program.wait(TIMEOUT_S) == 0
