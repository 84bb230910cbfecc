"""`sonde waits`: the wait-for graph of a process, recorded or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from attaching import Target
from launching import Interpreter, clean_environment
from matrix import OLDEST_AND_NEWEST
from truth.stacks import PROGRAMS

SONDE = [sys.executable, "-m", "sonde"]

DEADLOCK = """
import threading, time
first, second = threading.Lock(), threading.RLock()
both = threading.Barrier(2)
def one():
    with first:
        both.wait()
        with second: pass
def two():
    with second:
        both.wait()
        with first: pass
for target in (one, two):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
print("up", flush=True)
time.sleep(60)
"""


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SONDE, "waits", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_deadlock_is_named_while_it_lasts(tmp_path: Path) -> None:
    program = tmp_path / "stuck.py"
    program.write_text("import os; print(os.getpid(), flush=True)\n" + DEADLOCK)
    run = subprocess.Popen(
        [*SONDE, "run", "-o", str(tmp_path / "stuck.sonde"), str(program)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    pid = int(run.stdout.readline())
    try:
        assert run.stdout.readline() == "up\n"
        for _ in range(100):  # a waiter looks for the holder after a second
            answer = ask(str(pid), "--json")
            told = json.loads(answer.stdout) if answer.returncode == 0 else {}
            if told.get("deadlocks"):
                break
            time.sleep(0.1)
        text = ask(str(pid)).stdout
    finally:
        os.kill(pid, 9)
        run.wait(30)
    check_deadlock(told, text)


def check_deadlock(told: dict[str, Any], text: str) -> None:
    (cycle,) = told["deadlocks"]
    assert len(cycle) == 2
    by_thread = {wait["thread"]: wait for wait in told["waits"] if wait["thread"] in ("one", "two")}
    for waiter, owner in (("one", "two"), ("two", "one")):
        assert by_thread[waiter]["owner_thread"] == owner
        assert by_thread[waiter]["chain"][-1]["name"].rpartition(".")[2] in (waiter, "__enter__")
        assert any(frame["name"] == owner for frame in by_thread[waiter]["owner_chain"])
    assert "Deadlock" in text
    assert "These threads will never continue" in text


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_process_that_already_hangs(python: Interpreter) -> None:
    """Nobody thought of recording it, and nobody will ever let go."""
    program = subprocess.Popen(
        [python.path, "-c", DEADLOCK], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    assert program.stdout is not None
    try:
        assert program.stdout.readline() == "up\n"
        time.sleep(0.2)  # both are asleep by now
        answer = ask(str(program.pid), "--json")
        text = ask(str(program.pid)).stdout
        assert program.poll() is None
    finally:
        program.kill()
        program.communicate()
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    check_deadlock(told, text)
    assert all(wait["before"] for wait in told["waits"])
    assert "has waited more than" in text


def test_a_process_that_is_no_python() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        answer = ask(str(process.pid))
    finally:
        process.kill()
        process.wait()
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "is not CPython 3.11 to 3.15 or a JVM" in answer.stderr


@pytest.mark.parametrize(
    ("argument", "code", "sentence"),
    [
        ("nobody", 2, "sonde: invalid PID 'nobody'\n"),
        ("4194305", 1, "sonde: no process 4194305\n"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(
    argument: str, code: int, sentence: str
) -> None:
    answer = ask(argument)
    assert answer.returncode == code
    assert answer.stderr.startswith(sentence)
    assert answer.stdout == ""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_tasks_that_await_each_other(python: Interpreter) -> None:
    with Target(python, PROGRAMS / "awaiting.py", "blocked") as target:
        answer = ask(str(target.pid), "--json")
        text = ask(str(target.pid)).stdout
        assert target.alive
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    (loop,) = told["loops"]
    tasks = told["tasks"]
    assert (loop["thread"], loop["runtime"]) == ("MainThread", "asyncio")
    assert [frame["name"] for frame in loop["stack"]] == ["main", "block"]
    assert tasks[loop["running"]]["state"] == "running"
    names = {frozenset(tasks[i]["name"] for i in cycle) for cycle in told["task_deadlocks"]}
    assert names == {frozenset({"one", "two"}), frozenset({"ping", "pong"})}
    assert "one waits for a lock that two holds" in text
    assert "ping awaits pong" in text
    assert "These tasks will never continue." in text
    assert "consumer awaits a queue" in text
