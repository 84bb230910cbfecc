"""`sonde attach`: a process that runs already is recorded like any other, and left as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attaching import Target, attach, attached, begun, has_agent, recorder_of, until
from launching import TARGETS, TIMEOUT_S, Interpreter, run_command
from matrix import OLDEST_AND_NEWEST
from sonde.model.trees.overlap import overlap
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import RUNNING
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from truth.bounds import compare
from truth.stacks import Stacks

Keep = Callable[[str], Path]

PROGRAM = TARGETS / "attached.py"
THREADS = {"MainThread", "worker", "holder", "second", "taker", "dozer"}
ALL = ("--what", "cpu,locks,waits", "--rate", "5000")
OVERLAP = 0.95


# ---- what is recorded


def test_threads_that_ran_before_are_recorded(python: Interpreter, keep: Keep) -> None:
    with Target(python, PROGRAM, "0") as target:
        before = target.state()
        run = attached(target.pid, keep("attached"), "--for", "1.2", "--rate", "5000")
        after = target.state()
        code, out, err = target.end()
    assert (code, out, err) == (7, "over\n", "")
    recording = run.recording
    # The main thread stands still all the time; it is seen where waits are recorded.
    assert set(recording.threads.name) >= THREADS - {"MainThread"}
    assert recording.quality["sampler"] == "perf"
    assert recording.quality["lost"] == 0
    books = {
        key: {part: after[key][part] - before[key][part] for part in after[key]}
        for key in ("spent", "visits")
    }
    samples = recording.samples
    measured = Stacks(recording).split_by_child("turn")
    assert not compare(books, measured, samples.weight[samples.state == RUNNING])
    check_as_before(before, after)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_fork_is_warned_of_the_programs_own_threads_only(python: Interpreter, keep: Keep) -> None:
    """From 3.12 on os.fork() looks how many threads there are."""
    warned = "DeprecationWarning" if python.minor >= 12 else ""

    def forked(threads: int) -> str:
        assert target.process.stdin is not None
        assert target.process.stdout is not None
        target.process.stdin.write(f"{threads}\n")
        target.process.stdin.flush()
        return target.process.stdout.readline().strip()

    with Target(python, TARGETS / "forks.py") as target:
        assert (forked(1), forked(2)) == ("", warned)
        process = attach(target.pid, keep("forks"), "--what", "cpu,locks,waits")
        until(lambda: has_agent(target.pid), "the agent", process)
        # Its thread is there a moment before it has its hooks.
        until(lambda: not forked(1), "no warning", process)
        assert [(forked(1), forked(2)) for _ in range(3)] == [("", warned)] * 3
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
        assert (forked(1), forked(2)) == ("", warned)
        assert target.end() == (0, "", "")


def check_as_before(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"]
    # The handler of SIGTRAP stays: a signal still on its way would kill a target without one.
    trap = 1 << signal.SIGTRAP - 1
    for was, is_ in zip(before["signals"], after["signals"], strict=True):
        assert (is_["SigBlk"], is_["SigIgn"]) == (was["SigBlk"], was["SigIgn"])
        assert int(is_["SigCgt"], 16) & ~trap == int(was["SigCgt"], 16) & ~trap
    strange = strangers(before["maps"], after["maps"])
    assert not strange, "\n".join(strange)


def strangers(before: list[str], after: list[str]) -> list[str]:
    """Maps that are new, but for the agent's library and what libc's malloc gives any thread."""
    known, found, ours = set(before), [], 0
    for line in after:
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        named = line.split(maxsplit=5)[5:]
        if any("libsonde-cpython" in name for name in named) or (not named and low == ours):
            ours = high
        elif line not in known and (named or not _is_of_malloc(low, high, before)):
            found.append(line)
    return found


def _is_of_malloc(low: int, high: int, before: list[str]) -> bool:
    """An arena of glibc's lies in one piece of 64 MB; blocks it had may have grown or merged."""
    arena = 64 << 20
    starts = {line.split("-")[0] for line in before}
    return low // arena == (high - 1) // arena or f"{low:x}" in starts


def times(recording: Recording, running: bool) -> dict[str, int]:
    """The running or waiting time of the program's own functions."""
    stacks, samples = Stacks(recording), recording.samples
    rows = (samples.state == RUNNING) == running
    inside = {
        name: stacks.below(lambda frame, name=name: frame.code.name == name)[samples.context]
        for name in ("long_part", "short_part", "work", "hold", "hold_less", "take", "doze")
    }
    if running:  # the others run too shortly for a share that two recordings could agree on
        inside = {name: inside[name] for name in ("long_part", "short_part")}
    return {name: int(samples.weight[rows & of].sum()) for name, of in inside.items()}


def blamed(recording: Recording, kind: str) -> dict[str, int]:
    """Time waited for locks of a kind, by who waited for whom."""
    view = locks(recording, Selection(), by=("kind", "waiter_thread", "owner_thread"))
    (rows,) = [row.children for row in view.rows if row.value == kind]
    return {
        f"{waiter.value} for {owner.value}": owner.wait_ns
        for waiter in rows
        for owner in waiter.children
    }


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_the_same_as_from_the_start(python: Interpreter, keep: Keep) -> None:
    """cpu, waits and locks of one program, run and attached to."""
    done = run_command(keep("run"), [python.path, PROGRAM, "2"], *ALL)
    assert done.code == 7, done.err
    run = done.recording
    with Target(python, PROGRAM, "0") as target:
        got = attached(target.pid, keep("attached"), "--for", "2", *ALL).recording
    assert set(got.threads.name) >= THREADS
    assert not [name for name in got.threads.name if name.startswith("sonde")]
    for name, measure in (
        ("cpu", lambda recording: times(recording, running=True)),
        ("waits", lambda recording: times(recording, running=False)),
        ("locks", lambda recording: blamed(recording, "lock")),
    ):
        one, other = measure(run), measure(got)
        edges = sorted(one.keys() | other.keys())
        columns = [np.array([of.get(edge, 0) for edge in edges]) for of in (one, other)]
        assert (overlap(*columns) or 0) >= OVERLAP, f"{name}: {one} and {other}"


# ---- ends


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_ctrl_c_ends_it_and_the_target_goes_on(python: Interpreter, keep: Keep) -> None:
    path = keep("interrupted")
    with Target(python, PROGRAM, "0") as target:
        before = target.state()
        process = attach(target.pid, path)
        until(lambda: begun(path), "samples", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, target.alive) == (0, True)
        check_as_before(before, target.state())
        assert target.end()[0] == 7
    assert f"samples of process {target.pid}; read it with: sonde report" in err
    assert read(path).warnings == []


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_target_that_is_killed_ends_it(python: Interpreter, keep: Keep) -> None:
    path = keep("killed")
    with Target(python, PROGRAM, "0") as target:
        process = attach(target.pid, path)
        until(lambda: begun(path), "samples", process)
        target.process.kill()
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    recording = read(path)
    assert recording.warnings == []
    assert len(recording.samples) > 0


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_recorder_that_is_killed_leaves_a_clean_target(python: Interpreter, keep: Keep) -> None:
    path = keep("orphaned")
    with Target(python, PROGRAM, "0") as target:
        before = target.state()
        process = attach(target.pid, path, *ALL)
        until(lambda: begun(path), "samples", process)
        assert has_agent(target.pid)
        recorder = recorder_of(process)
        process.kill()  # else it would put another one in its place
        os.kill(recorder, signal.SIGKILL)
        process.communicate(timeout=TIMEOUT_S)
        until(lambda: not has_agent(target.pid), "the agent leaves")
        check_as_before(before, target.state())
        # And it can be recorded again.
        again = attached(target.pid, keep("again"), "--for", "0.3")
        assert len(again.recording.samples) > 0
        code, out, err = target.end()
    assert (code, out, err) == (7, "over\n", "")


def test_sonde_itself_killed_leaves_a_clean_target_and_a_recording(
    any_python: Interpreter, keep: Keep
) -> None:
    path = keep("left")
    with Target(any_python, PROGRAM, "0") as target:
        before = target.state()
        process = attach(target.pid, path)
        until(lambda: begun(path), "samples", process)
        recorder = recorder_of(process)
        process.kill()
        process.communicate()
        until(lambda: not has_agent(target.pid), "the agent leaves")
        until(lambda: not os.path.exists(f"/proc/{recorder}"), "the recorder ends")
        check_as_before(before, target.state())
    assert read(path).warnings == []
