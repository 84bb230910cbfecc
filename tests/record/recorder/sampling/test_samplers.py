"""The samplers below the best one: right shares too, honest about what they are, and reachable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import (
    SONDE,
    TESTS,
    TIMEOUT_S,
    Interpreter,
    Run,
    clean_environment,
    must_run,
    sonde,
)
from matrix import OLDEST_AND_NEWEST, on_both_ends
from sonde.recording.reader import read
from truth.bounds import compare
from truth.stacks import PROGRAMS, Stacks, Trace, impossible, trace

Keep = Callable[[str], Path]

CALLS = PROGRAMS / "calls.py"
RATE = 1000
# A reader across cores may put a stack together from two moments; the others may not.
MAY_TEAR = {"perf-user": 0.0, "reader": 0.0, "cross-core": 0.05}


# Whoever looks at other threads reads what each version keeps elsewhere.
@pytest.mark.parametrize(
    "sampler", ["reader", on_both_ends("perf-user"), on_both_ends("cross-core")]
)
def test_forced_samplers_tell_the_truth(python: Interpreter, keep: Keep, sampler: str) -> None:
    path = keep(f"{sampler}-{python.version}")
    options = ("--rate", str(RATE), "--sampler", sampler)
    run = must_run(path, [python.path, CALLS, "0.8"], *options)
    recording = run.recording
    stacks = Stacks(recording)
    quality = recording.quality
    assert quality["sampler"] == sampler
    assert quality["why_not_better"] == f"--sampler {sampler} was given"
    assert quality["taken"] == len(recording.samples) > 400
    assert quality["lost"] <= 0.2 * quality["taken"]
    # They do not come at a fixed step of CPU time, so only chance bounds what they miss; and those
    # that were lost, of a stack that changed while it was read, may all be of one part.
    measured = stacks.split_by_child("one")
    truth = run.told["parts"]
    lost = quality["lost"] / (quality["taken"] + quality["lost"])
    assert not compare(truth, measured, recording.samples.weight, regular=False, unseen=lost)
    known = _trace_once(python, path.with_suffix(".json"))
    found = impossible(stacks, known, lambda file: file.startswith(str(PROGRAMS)))
    assert len(found) <= MAY_TEAR[sampler] * len(recording.samples), "\n".join(found[:10])


# Time stands at the next place where the interpreter looks up: no more than this of any part's
# share goes to another one. Seen were up to 0.08, for long C functions, and 0.02 for short calls.
SAFEPOINT_BIAS = {"calls": 0.05, "shares": 0.12}


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize(
    ("program", "parts", "caller"), [("calls", "parts", "one"), ("shares", "by_function", "turn")]
)
def test_asked_threads_tell_nearly_the_truth(
    python: Interpreter, keep: Keep, program: str, parts: str, caller: str
) -> None:
    options = ("--rate", str(RATE), "--sampler", "safepoint")
    command = [python.path, PROGRAMS / f"{program}.py", "0.8"]
    run = must_run(keep(f"safepoint-{program}-{python.version}"), command, *options)
    recording, quality = run.recording, run.recording.quality
    assert quality["sampler"] == "safepoint"
    assert quality["taken"] == len(recording.samples) > 200
    assert quality["undecodable"] == quality["lost"] == 0
    stacks = Stacks(recording)
    weights = recording.samples.weight
    measured = stacks.split_by_child(caller)
    truth = run.told[parts]
    assert not compare(truth, measured, weights, regular=False, unseen=SAFEPOINT_BIAS[program])
    if program == "calls":
        known = _trace_once(python, run.path.with_suffix(".json"))
        assert not impossible(stacks, known, lambda file: file.startswith(str(PROGRAMS)))
    told = sonde("report", run.path, "quality").stdout
    assert "attributed to the next safepoint" in " ".join(told.split())


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_asked_threads_all_answer(python: Interpreter, keep: Keep) -> None:
    command = [python.path, PROGRAMS / "threads.py", "0.8"]
    run = must_run(keep("safepoint-threads"), command, "--sampler", "safepoint")
    recording, spent = run.recording, run.told["spent"]
    rows = {name: row for row, name in enumerate(recording.threads.name)}
    cpu = {
        number: int(recording.samples.weight[recording.samples.thread == rows[f"w-{number}"]].sum())
        for number in spent
        if f"w-{number}" in rows
    }
    # A thread that has the GIL for a few milliseconds in all may have been asked just before them.
    assert len(cpu) > 0.9 * len(spent)
    # What it uses after its last answer stands nowhere, and nothing stands twice.
    assert 0.75 * sum(spent.values()) < sum(cpu.values())
    for number, ns in cpu.items():
        assert ns < spent[number] + 8_000_000


_traces: dict[str, Trace] = {}


def _trace_once(python: Interpreter, out: Path) -> Trace:
    if python.version not in _traces:
        _traces[python.version] = trace(python, CALLS, ["0"], out)
    return _traces[python.version]


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_the_remote_sampler_tells_the_truth(python: Interpreter, keep: Keep) -> None:
    """From outside, where no agent may enter; it begins late, so the program takes longer."""
    run = must_run(keep("remote"), [python.path, CALLS, "1.6"], "--sampler", "remote")
    quality = run.recording.quality
    assert quality["sampler"] == "remote"
    assert quality["taken"] == len(run.recording.samples) > 100
    measured = Stacks(run.recording).split_by_child("one")
    weights = run.recording.samples.weight
    assert not compare(run.told["parts"], measured, weights, regular=False)


def run_under(wrapper: list[str | Path], path: Path, python: Interpreter, *options: str) -> Run:
    done = subprocess.run(
        [*wrapper, *SONDE, "run", "-o", path, *options, "--", python.path, CALLS, "0.5"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Run(done.returncode, done.stdout, done.stderr, path)


@pytest.mark.parametrize(
    ("denied", "sampler", "reason"),
    [
        (["perf_event_open"], "reader", "perf"),
        (["--errno", "ENOSYS", "perf_event_open"], "reader", "perf"),
        (["perf_event_open,sched_setaffinity"], "cross-core", "perf"),
    ],
)
def test_what_is_refused_leads_to_the_next_best(
    any_python: Interpreter, keep: Keep, denied: list[str], sampler: str, reason: str
) -> None:
    wrapper = [sys.executable, TESTS / "denied.py", *denied, "--"]
    run = run_under(wrapper, keep(sampler), any_python, "--rate", str(RATE))
    quality = run.recording.quality
    assert quality["sampler"] == sampler
    assert reason in quality["why_not_better"]
    assert quality["taken"] > 200
    measured = Stacks(run.recording).split_by_child("one")
    weights = run.recording.samples.weight
    assert not compare(run.told["parts"], measured, weights, regular=False)


def test_without_privilege_the_kernel_is_left_out(any_python: Interpreter, keep: Keep) -> None:
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid")
    if not paranoid.exists() or int(paranoid.read_text()) != 2:
        pytest.skip("perf_event_paranoid is not 2 here: unprivileged users get more or less")
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("no setpriv(1) to give privileges up with")
        wrapper: list[str | Path] = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--"]
    else:
        wrapper = []
    run = run_under(wrapper, keep("unprivileged"), any_python, "--rate", "5000")
    quality = run.recording.quality
    assert quality["sampler"] == "perf-user"
    assert "perf_event_paranoid is 2" in quality["why_not_better"]
    assert quality["taken"] > 1000
    assert read(run.path).warnings == []
