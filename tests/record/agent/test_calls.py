"""Calls counted in windows: however a program is recorded, and nothing is left behind."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attaching import Target, attached
from environments import Environment
from launching import TARGETS, TESTS, TIMEOUT_S, Interpreter, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.calls.calls import calls
from sonde.views.selecting.selection import select

Keep = Callable[[str], Path]

SESSION = """
import json, sys, time
import sonde
def leaf(): return 1
def recorded(): return leaf()
def paused(): return leaf()
def burn(function, seconds=0.15):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(100): function()
def tools():
    if sys.version_info < (3, 12): return [sys.getprofile() is not None]
    return [sys.monitoring.get_tool(number) for number in range(6)]
with sonde.record(sys.argv[1], what="calls", ticks=500, stride=2, samples=10) as session:
    burn(recorded)
    during = tools()
    session.pause()
    burn(paused)
    session.resume()
    burn(recorded)
left = tools()
for number in range(6) if sys.version_info >= (3, 12) else ():
    sys.monitoring.use_tool_id(number, "taken")
with sonde.record(sys.argv[1] + ".2", what="calls") as session:
    burn(recorded)
print(json.dumps({"during": during, "left": left, "second": session.quality}))
"""


def pairs(recording: Recording, **chosen: Any) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for edge in calls(recording, select(**chosen)).edges:
        key = (edge.caller.name if edge.caller else "", edge.callee.name)
        found[key] = found.get(key, 0.0) + edge.weight
    return found


def chance(recording: Recording, thread: str | None = None) -> float:
    """How far a share may be off by chance.

    Calls in one window are of one moment: it is the number of windows that makes a share sure. One
    alone was seen to be off by a quarter (the standard deviation); this allows four times that.
    """
    windows = np.unique(recording.calls.window)
    if thread is not None:
        row = recording.threads.name.index(thread)
        windows = windows[recording.windows.thread[windows] == row]
    return 1 / math.sqrt(len(windows))


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_running_program_is_left_as_it_was(python: Interpreter, keep: Keep) -> None:
    with Target(python, TARGETS / "called.py", "2") as target:
        path = keep("attached-calls")
        options = ("--what", "calls", "--ticks", "500", "--for", "1.0")
        run = attached(target.pid, path, *options)
        assert not any(target.state()["tools"])
        recording = run.recording
        again = attached(target.pid, keep("again"), *options)
        assert not any(target.state()["tools"])
        code, out, err = target.end()
    assert (code, out.splitlines()[-1], err) == (0, "over", "")
    assert recording.quality["windows"] > 30  # of 500 a second, were the processor all its own
    for one in (recording, again.recording):
        # branch calls leaf twice and len once; all is called from work.
        found, off = pairs(one), chance(one)
        assert found["branch", "leaf"] == pytest.approx(0.5, abs=off)
        assert found["work", "branch"] == pytest.approx(0.25, abs=off)
        assert found["branch", "len"] == pytest.approx(0.25, abs=off)
    names = [name for name in recording.threads.name if name.startswith("Thread-")]
    assert len(names) == 2
    for name in names:  # threads that take turns cut each other's windows, and both have theirs
        share = pairs(recording, thread=name)["branch", "leaf"]
        assert share == pytest.approx(0.5, abs=chance(recording, name))


@pytest.fixture(scope="session")
def session(environment: Environment, keep: Keep) -> tuple[dict[str, Any], Path]:
    path = keep("session-calls")
    done = subprocess.run(
        [environment.path, "-c", SESSION, path],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(TESTS.parent / "src")),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told, path


def test_a_program_counts_its_own_calls(session: tuple[dict[str, Any], Path]) -> None:
    told, path = session
    recording = read(path)
    found = pairs(recording)
    assert found["recorded", "leaf"] > 0.4
    assert ("paused", "leaf") not in found
    # Windows that show C functions, too, are few, and count more of their calls.
    # In dense code a window of Python functions counts half as many calls, four times as far apart.
    windows = recording.windows
    for native, usual in ((0, {(2, 10), (8, 5)}), (1, {(1, 20)})):
        full = (windows.cut == 0) & (windows.native == native)
        counted = {
            (int(windows.stride[row]), int((recording.calls.window == row).sum()))
            for row in full.nonzero()[0]
        }
        assert counted
        assert counted <= usual
    assert not any(told["left"])


def test_a_tool_id_of_its_own_or_none(
    python: Interpreter, session: tuple[dict[str, Any], Path]
) -> None:
    told, path = session
    second = read(f"{path}.2")
    if python.minor < 12:
        assert len(second.calls) > 0
        return
    assert not any(told["during"])  # a window borrows an id, and ends before anybody sees it
    assert len(second.calls) == 0
    assert "every tool id" in second.quality["why_no_calls"] == told["second"]["why_no_calls"]
    report = sonde("report", f"{path}.2", "calls")
    assert "every tool id" in report.stdout
    assert "every tool id" in " ".join(sonde("report", f"{path}.2", "quality").stdout.split())


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("children", [True, False])
def test_programs_that_count_themselves_and_fork(
    python: Interpreter, keep: Keep, children: bool
) -> None:
    options = ["--what", "calls", "--ticks", "2000"] + ([] if children else ["--no-children"])
    run = must_run(keep("counts"), [python.path, TARGETS / "counts_itself.py"], *options)
    told = run.told
    assert told["seen"] == {"first": 50_000, "second": 50_000}
    assert told["status"] == 0
    pids = [process.pid for process in run.recording.processes]
    if children:
        assert told["pid"] in pids
        assert pairs(run.recording, process=told["pid"])["second", "first"] > 0.15
    else:
        assert told["pid"] not in pids
        assert not any(told["child"])
    assert pairs(run.recording)["second", "first"] > 0.15


def test_samples_and_calls_in_one_recording(any_python: Interpreter, keep: Keep) -> None:
    run = must_run(
        keep("both"), [any_python.path, TARGETS / "counts_itself.py"], "--what", "cpu,calls"
    )
    quality = run.recording.quality
    assert quality["taken"] > 200
    assert quality["rate_asked"] == 1000
    assert 0.05 < quality["windows"] / quality["taken"] < 0.15


def test_without_ticks_there_are_no_windows(any_python: Interpreter, keep: Keep) -> None:
    run = must_run(
        keep("reader"),
        [any_python.path, TARGETS / "counts_itself.py"],
        *("--what", "calls", "--sampler", "reader"),
    )
    assert "the sampler is reader" in run.err
    assert "the sampler is reader" in run.recording.quality["why_no_calls"]
    assert len(run.recording.calls) == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--what", "calls", "--stride", "0"], "--stride"),
        (["--what", "calls", "--samples", "0"], "--samples"),
        (["--what", "calls", "--ticks", "0"], "--ticks"),
        (["--what", "cpu", "--ticks", "100"], "--what calls"),
        (["--what", "cpu,calls", "--rate", "50", "--ticks", "100"], "--ticks 100"),
    ],
)
def test_wrong_options_are_told(tmp_path: Path, options: list[str], word: str) -> None:
    done = sonde("run", *options, "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert word in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


SITES = """
import time
def inner(x): return x
def outer():
    for i in range(200):
        inner(inner(i))
end = time.thread_time() + 1.0
while time.thread_time() < end:
    outer()
"""


def test_a_call_is_one_site_whichever_hook_saw_it(python: Interpreter, tmp_path: Path) -> None:
    program = tmp_path / "sites.py"
    program.write_text(SITES)
    run = must_run(
        tmp_path / "sites.sonde", [python.path, program], "--what", "calls", "--ticks", "500"
    )
    # Windows of both kinds count calls of Python functions.
    assert len(set(run.recording.windows.native.tolist())) == 2 or python.minor == 13
    found = calls(run.recording).advice.sites
    sites = {site.instruction for site in found if site.targets[0].callee.name == "inner"}
    assert len(sites) == 2
