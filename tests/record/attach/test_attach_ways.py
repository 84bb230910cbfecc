"""The ways into a process, and what happens to processes that fork, execute or are traced."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach, attached, begun, has_agent, traced, until
from launching import TIMEOUT_S, Interpreter, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.errors import SondeError
from sonde.record.system import perf_events
from sonde.recording.reader import read

Keep = Callable[[str], Path]

SPINS = """
import os
print(os.getpid(), flush=True)
def spin():
    while True: pass
spin()
"""
SLEEPS = """
import os, threading, time
print(os.getpid(), flush=True)
def spin():
    while True: sum(range(1000))
threading.Thread(target=spin, daemon=True, name="spinner").start()
time.sleep(60)
"""
SIGNALLED = """
import os, signal, time
signal.signal(signal.SIGTRAP, lambda *_: None)
print(os.getpid(), flush=True)
while True: time.sleep(0.001)
"""
FORKS = """
import os, sys, time
print(os.getpid(), flush=True)
def in_child():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
def in_parent():
    while not os.waitpid(child, os.WNOHANG)[0]: pass
sys.stdin.readline()
child = os.fork()
if child == 0:
    in_child()
    os._exit(0)
in_parent()
print("over", flush=True)
sys.stdin.read()
"""
EXECS = """
import os, sys, time
print(os.getpid(), flush=True)
sys.stdin.readline()
end = time.thread_time() + 0.2
while time.thread_time() < end: pass
try: os.execv("/no/such/program", ["x"])
except OSError: pass
end = time.thread_time() + 0.2
while time.thread_time() < end: pass
os.execv(sys.executable, [sys.executable, "-c", "print('another')"])
"""
DEADLOCK = """
import os, threading, time
first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)
def one():
    with first:
        both.wait()
        time.sleep(2)
        with second: pass
def two():
    with second:
        both.wait()
        time.sleep(2)
        with first: pass
for target in (one, two):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
print(os.getpid(), flush=True)
time.sleep(60)
"""


def entered(path: Path) -> str:
    by: str = read(path).target["entered"]["by"]
    return by


@pytest.mark.parametrize("program", [SPINS, SLEEPS], ids=["computes", "sleeps"])
def test_a_process_is_entered_by_ptrace(python: Interpreter, keep: Keep, program: str) -> None:
    path = keep("entered")
    with Target(python, "-c", program) as target:
        run = attached(target.pid, path, "--for", "0.3")
        assert target.alive
    facts = read(path).target["entered"]
    assert facts["by"] == "ptrace"
    assert facts["tries"] >= 1
    assert facts["stopped_ns"] > 0
    assert run.recording.quality["sampler"] == "perf"
    if program == SLEEPS:
        assert "spinner" in run.recording.threads.name


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_thread_that_gets_a_signal_at_each_switch(python: Interpreter, keep: Keep) -> None:
    """As one has that was just forked from a program whose waits are recorded."""
    path = keep("signalled")
    with Target(python, "-c", SIGNALLED) as target:
        try:
            event = perf_events.open_event(
                target.pid, perf_events.CONTEXT_SWITCHES, 1, sig_data=2**64 - 1
            )
        except OSError as error:
            pytest.skip(perf_events.refusal(error))
        try:
            attached(target.pid, path, "--for", "0.3")
            assert target.alive
        finally:
            os.close(event)
    assert entered(path) == "ptrace"


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_one_that_is_traced_and_may_not_be_asked_is_read(python: Interpreter, keep: Keep) -> None:
    path = keep("disabled")
    # Before 3.14 an option that is not known is ignored.
    options = ("-X", "disable-remote-debug")
    with Target(python, "-c", SPINS, options=options) as target, traced(target.pid):
        run = attached(target.pid, path, "--for", "0.3")
        assert target.alive
    assert (entered(path), run.recording.quality["sampler"]) == ("nothing", "remote")


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_traced_process_is_asked_or_read_from_outside(python: Interpreter, keep: Keep) -> None:
    path = keep("traced")
    with Target(python, "-c", SPINS) as target, traced(target.pid) as tracer:
        run = attached(target.pid, path, "--for", "1")
    quality = run.recording.quality
    if python.minor >= 14:
        assert (entered(path), quality["sampler"]) == ("remote debugging", "perf")
    else:
        assert (entered(path), quality["sampler"]) == ("nothing", "remote")
        assert f"onlooker (process {tracer}) already traces it" in quality["why_not_better"]
    assert quality["taken"] > 50


def test_from_outside_if_asked_for(python: Interpreter, keep: Keep) -> None:
    path = keep("remote")
    with Target(python, "-c", SPINS) as target:
        run = attached(target.pid, path, "--for", "0.5", "--sampler", "remote")
        assert "libsonde" not in Path(f"/proc/{target.pid}/maps").read_text()
    assert run.recording.quality["sampler"] == "remote"
    assert len(run.recording.samples) > 20


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_forked_children_are_followed(python: Interpreter, keep: Keep) -> None:
    path = keep("forks")
    with Target(python, "-c", FORKS, options=("-W", "ignore")) as target:
        process = attach(target.pid, path)
        until(lambda: has_agent(target.pid), "the agent comes", process)
        until(lambda: len(_processes(path)) == 1, "it is admitted", process)
        assert target.process.stdin is not None
        assert target.process.stdout is not None
        target.process.stdin.write("\n")
        target.process.stdin.flush()
        assert target.process.stdout.readline() == "over\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        assert target.end()[0] == 0
    recording = read(path)
    assert len(recording.processes) == 2
    names = [recording.functions.name[row] for row in recording.contexts.function.tolist()]
    assert {"in_parent", "in_child"} <= set(names)


def _processes(path: Path) -> list[int]:
    try:
        return [process.pid for process in read(path).processes]
    except (SondeError, OSError):
        return []  # nothing was written yet


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_another_program_is_executed_unharmed(python: Interpreter, keep: Keep) -> None:
    path = keep("execs")
    with Target(python, "-c", EXECS) as target:
        process = attach(target.pid, path, "--rate", "10000")
        until(lambda: len(_processes(path)) == 1, "it is admitted", process)
        code, out, err = target.end()
        assert (code, out) == (0, "another\n"), err
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    # Before and after the exec that failed.
    assert len(read(path).samples) > 2000


def test_who_waits_for_whom_in_it(any_python: Interpreter, keep: Keep) -> None:
    path = keep("waits")
    with Target(any_python, "-c", DEADLOCK) as target:
        process = attach(target.pid, path)
        until(lambda: begun(path) or has_agent(target.pid), "the agent comes", process)

        def deadlocks() -> list[object]:
            answer = sonde("waits", str(target.pid), "--json")
            return json.loads(answer.stdout)["deadlocks"] if answer.returncode == 0 else []

        (cycle,) = until(deadlocks, "the deadlock is named")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
    assert len(cycle) == 2
