"""The call flow of Java programs: numbers of calls are exact, and nothing is left after it."""

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
from sonde.views.flow.flow import flow

SOURCES = Path(__file__).resolve().parent / "hotspot"
ROUNDS = 1000
THREADS = 20

# Calls, and how many of them an exception ended, by a round of Flow.java; `n` counts rounds.
BY_ROUND = {
    "Flow.round": (1000, 0),
    "Flow.recursive": (10 * 1000, 0),
    "Flow.catcher": (1000, 0),
    "Flow.thrower": (1000 + 200, 500 + 200),
    "Flow.finished": (1000, 0),
    "Flow.locked": (1000, 250),
    "Flow.guarded": (1000, 200),
    # No handler can be where a constructor has another one called: the catching method ends it.
    "Flow$Derived.<init>": (2 * 1000, 1000),
    "Flow$Derived.check": (2 * 1000, 0),
    "Flow$Base.<init>": (2 * 1000, 1000),
    "Flow$Pair.<init>": (1000, 0),
    "Flow$Pair.other": (1000, 0),
    "Flow$Kind.of": (1000, 0),
    "Flow$Greets.greet": (1000, 0),
    "Flow$Greeter.<init>": (1000, 0),
    "Flow.lambda$round$0": (1000, 0),
    "Flow.constant": (1000, 0),
    "Flow.pauses": (1000, 0),
}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES, run_folder(tmp_path_factory) / "java-truth")


def numbers(recording: Recording) -> dict[str, tuple[int, int]]:
    return {
        row.function.name: (row.numbers.calls, row.numbers.exceptions)
        for row in flow(recording).rows
        if row.function.name in BY_ROUND
    }


def times(count: int) -> dict[str, tuple[int, int]]:
    return {name: (count * calls, count * ended) for name, (calls, ended) in BY_ROUND.items()}


def record(path: Path, jdk: Jdk, classes: Path, within: str, *program: str) -> Run:
    command = [jdk.java, "-cp", classes, "Flow", *program]
    return must_run(path, command, "--what", "flow", "--flow-in", within)


@pytest.mark.parametrize("program", [(), ("threads", THREADS), ("virtual", THREADS)], ids=str)
def test_numbers_of_calls_are_exact(
    program: tuple[str, int] | tuple[()], jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    if program and program[0] == "virtual" and jdk.major < 21:
        pytest.skip("no virtual threads before 21")
    run = record(keep("flow"), jdk, classes, "Flow", *map(str, program))
    assert numbers(run.recording) == times(program[1] if program else 1)
    result = flow(run.recording)
    assert result.calibrated
    by_name = {row.function.name: row.numbers for row in result.rows}
    assert by_name["Flow.recursive"].recursion == 0.9 * by_name["Flow.recursive"].calls
    callers = {
        result.nodes[node.parent].function.name
        for node in result.nodes
        if node.parent is not None and node.function.name == "Flow$Pair.<init>"
    }
    assert callers == {"Flow.round"}


def test_one_class_or_method(jdk: Jdk, classes: Path, keep: Callable[[str], Path]) -> None:
    of_class = record(keep("class"), jdk, classes, "Flow$Derived")
    assert set(numbers(of_class.recording)) == {"Flow$Derived.<init>", "Flow$Derived.check"}
    method = record(keep("method"), jdk, classes, "Flow.recursive")
    assert numbers(method.recording) == {"Flow.recursive": BY_ROUND["Flow.recursive"]}


def test_without_a_limit_java_has_no_call_flow(
    jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    run = must_run(keep("everywhere"), [jdk.java, "-cp", classes, "Flow"], "--what", "cpu,flow")
    assert "no call flow: Java programs need --flow-in" in run.err
    instructions = ("--flow-in", "Flow", "--flow-metric", "instructions")
    run = must_run(
        keep("counted"), [jdk.java, "-cp", classes, "Flow"], "--what", "cpu,flow", *instructions
    )
    assert "executed bytecode instructions" in run.err


def test_an_attached_program_is_as_before(
    jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    command = [jdk.java, "-cp", str(classes), "Flow", "wait"]
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
        for within, wanted in (("Flow", set(BY_ROUND)), ("Flow$Kind", {"Flow$Kind.of"})):
            path = keep("attached")
            recorder = attach(program.pid, path, "--what", "flow", "--flow-in", within)
            until(lambda path=path: begun(path), "the recording", recorder)
            rounds()
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=TIMEOUT_S)
            assert recorder.returncode == 0, err
            found = numbers(Run(0, "", err, path).recording)
            assert found == {name: BY_ROUND[name] for name in wanted}
            rounds()
        program.stdin.close()
        assert program.wait(TIMEOUT_S) == 0
        assert program.stdout.read() == ""
