"""A program that observes itself gets the same events with sonde as without."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, attached, begun, until
from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST

Keep = Callable[[str], Path]
Sequences = dict[str, set[str]]

OBSERVED = TARGETS / "observed.py"
CALLS = ("--what", "calls", "--ticks", "2000")


def sequences(output: str) -> Sequences:
    """Which sequences of events each tool got."""
    told: dict[str, dict[str, int]] = json.loads(output.strip().splitlines()[-1])
    return {tool: set(counts) for tool, counts in told.items()}


@pytest.fixture(scope="session")
def alone(python: Interpreter) -> Sequences:
    done = subprocess.run(
        [python.path, OBSERVED, "0.5"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=True,
    )
    return sequences(done.stdout)


@pytest.mark.versions(*OLDEST_AND_NEWEST, "3.13")
def test_events_are_those_of_a_run_without_sonde(
    python: Interpreter, keep: Keep, alone: Sequences
) -> None:
    run = must_run(keep("observed"), [python.path, OBSERVED, "2"], *CALLS)
    assert sequences(run.out) == alone
    quality = run.recording.quality
    assert quality["windows"] > 30
    assert quality["windows_withheld"] > 30
    assert quality["windows_withheld_tracing"] > 0
    reasons = [quality.get(f"windows_withheld_{name}", 0) for name in ("tracing", "monitoring")]
    assert sum(reasons) == quality["windows_withheld"]
    assert (reasons[1] > 0) == (python.minor >= 12)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_session_may_begin_while_a_tool_is_active(
    python: Interpreter, keep: Keep, alone: Sequences
) -> None:
    with Target(python, OBSERVED, "0") as target:
        for name in ("first", "second"):
            # Long enough for the program to turn each of its tools on.
            run = attached(target.pid, keep(f"observed-{name}"), *CALLS, "--for", "2")
            assert run.recording.quality["windows_withheld"] > 0
        code, out, err = target.end()
    assert code == 0, err
    assert sequences(out) == alone


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_sessions_begin_and_end_between_any_two_events(
    python: Interpreter, keep: Keep, alone: Sequences
) -> None:
    """The agent measures the cost of a call meanwhile, and loses the GIL in the middle of it."""
    with Target(python, OBSERVED, "0", "0.001") as target:
        for number in range(8):
            attached(target.pid, keep(f"observed-{number}"), *CALLS, "--for", "0.2")
        code, out, err = target.end()
    assert code == 0, err
    assert sequences(out) == alone


RAISES = """
import os, select, signal, sys, time
class Tick(Exception): pass
raised = caught = 0
def on_alarm(number, frame):
    global raised
    raised += 1
    raise Tick(raised)
def leaf(): return 1
def work():
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        for _ in range(100): leaf()
signal.signal(signal.SIGALRM, on_alarm)
sys.setprofile(lambda *event: None) # so that sonde measures later, in this thread
print(os.getpid(), flush=True)
while not select.select([0], [], [], 0.01)[0]: work()
sys.setprofile(None)
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Tick as tick:
        assert tick.args == (raised,)
        caught += 1
print(raised, caught)
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_exceptions_of_handlers_are_not_lost(
    python: Interpreter, keep: Keep, tmp_path: Path
) -> None:
    """Those that a POSIX signal's handler raises while the cost of a call is measured."""
    program = tmp_path / "raises.py"
    program.write_text(RAISES)
    with Target(python, program) as target:
        path = keep("raises")
        by = attach(target.pid, path, *CALLS)
        until(lambda: begun(path), "the session begins", by)
        code, out, err = target.end("go\n")
        by.communicate(timeout=TIMEOUT_S)
    assert code == 0, err
    raised, caught = map(int, out.split())
    assert raised == caught > 10


ALWAYS = """
import sys, time
def leaf(): return 1
def work():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        for _ in range(100): leaf()
sys.setprofile(lambda *event: None)
work()
"""


def test_quality_says_that_windows_were_withheld(any_python: Interpreter, keep: Keep) -> None:
    path = keep("withheld")
    run = must_run(path, [any_python.path, "-c", ALWAYS], *CALLS)
    assert run.recording.quality["windows_withheld_tracing"] > 0
    shown: dict[str, Any] = json.loads(sonde("report", path, "quality", "--json").stdout)
    assert "windows_withheld_tracing" in json.dumps(shown)
    text = " ".join(sonde("report", path, "quality").stdout.split())
    assert "while the program used sys.settrace or sys.setprofile" in text
