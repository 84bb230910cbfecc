"""Many processes in one recording: trees, names, and whatever attached processes start."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from attaching import Target, attach, attach_to, has_agent, recorder_of, traced, until
from environments import servers
from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, sonde
from matrix import OLDEST_AND_NEWEST
from serving import Server
from sonde.errors import SondeError
from sonde.recording.format.framing import MAGIC
from sonde.recording.reader import read, read_bytes
from sonde.recording.tables import Recording
from truth.stacks import Stacks

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

USAGE, FAILURE = 2, 1
# The kinds of tests/targets/children.py: in which ways processes are started.
KINDS = 20
CHILD_NS = 300_000_000
ENTERED_NS = 150_000_000
ENOUGH = 20
ANSWERS = 100

GUNICORN = ("gunicorn", "--workers", "2", "--bind", "127.0.0.1:PORT", "served:wsgi")
UVICORN = (
    "uvicorn", "--workers", "2", "--port", "PORT", "--log-level", "warning", "served:asgi",
)  # fmt: skip
FAMILY = """
import os, sys, time
parent = os.getpid()
def burn():
    while os.getppid() == parent: sum(range(1000))
    os._exit(0)
children = []
for _ in range(2):
    child = os.fork()
    if child == 0: burn()
    children.append(child)
print(os.getpid(), *children, flush=True)
sys.stdin.read()
for child in children: os.kill(child, 9)
"""
DROPS = """
import os, sys, time
parent = os.getpid()
def early():
    while os.getppid() == parent: sum(range(1000))
def late():
    while os.getppid() == parent: sum(range(1000))
def worker(body):
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        body()
        os._exit(0)
    return child
first = worker(early)
print(os.getpid(), first, flush=True)
sys.stdin.readline()
second = worker(late)
print(second, flush=True)
sys.stdin.read()
for child in (first, second): os.kill(child, 9)
"""


def recorded(path: Path) -> set[int]:
    try:
        return {process.pid for process in read(path).processes}
    except (SondeError, OSError):
        return set()  # nothing was written yet


def recorded_again(path: Path) -> set[int]:
    """Processes with samples in the part that another recorder has begun in the same file."""
    data = path.read_bytes()
    second = data.rfind(MAGIC)
    return set(in_function(read_bytes(data[second:]), "burn")) if second > 0 else set()


def in_function(recording: Recording, name: str) -> dict[int, int]:
    """Samples inside a function, by process."""
    inside = Stacks(recording).below(lambda frame: frame.code.name == name)
    pids = np.array([recording.processes[p].pid for p in recording.threads.process])
    samples = recording.samples
    found = pids[samples.thread][inside[samples.context]]
    return {int(pid): int(n) for pid, n in zip(*np.unique(found, return_counts=True), strict=True)}


@contextlib.contextmanager
def recording_of(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`sonde attach` with these arguments, ended by Ctrl-C."""
    process = attach_to(path, *arguments)
    try:
        yield process
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        assert "Traceback" not in err, err
        process.said = err  # type: ignore[attr-defined]
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


# ---- servers whose workers come and go


def wait_for_answers(server: Server, path: Path, *workers: int) -> None:
    """Until each has answered often, and samples of its answers are in the recording."""
    answered = server.load.answered
    enough = {pid: answered[pid] + ANSWERS for pid in workers}
    until(lambda: all(answered[pid] > n for pid, n in enough.items()), "they answer")
    until(lambda: in_function(read(path), "compute").keys() >= set(workers), "their samples")


def check_server(server: Server, path: Path, *arguments: str) -> None:
    load = server.load
    until(lambda: len(load.answered) == 2, "both workers answer")
    first = set(load.answered)
    with recording_of(path, *arguments) as process:
        until(lambda: recorded(path) >= first, "the workers are recorded", process)
        wait_for_answers(server, path, *first)
        for number, victim in zip((signal.SIGTERM, signal.SIGKILL), sorted(first), strict=True):
            before = set(load.answered)
            load.kills()
            os.kill(victim, number)
            (new,) = until(lambda known=before: load.answered.keys() - known, "another worker")
            load.recovers()
            until(lambda pid=new: pid in recorded(path), "it is recorded", process)
            wait_for_answers(server, path, new)
        assert load.failed == []
        assert server.process.poll() is None
    workers = set(load.answered)
    assert not [pid for pid in workers - first if has_agent(pid)]
    assert load.failed == []
    recording = read(path)
    assert recording.warnings == []
    processes = {process.pid: process for process in recording.processes}
    assert server.pid in processes
    samples = in_function(recording, "compute")
    assert workers <= samples.keys()
    assert min(samples.values()) > 0
    for victim in first:
        assert processes[victim].end_ns is not None
    assert processes[max(first)].exit == "killed by SIGKILL"
    for worker in workers - first:
        assert processes[worker].end_ns is None
    assert recording.quality["not_entered"] == {}
    assert f"of {len(processes)} processes" in process.said  # type: ignore[attr-defined]


def test_gunicorns_workers(python: Interpreter, keep: Keep) -> None:
    with Server(python, servers(), GUNICORN) as server:
        check_server(server, keep("gunicorn"), "--tree", str(server.pid))
        server.load.end()
        assert server.end()[0] == 0


def test_uvicorns_workers(python: Interpreter, keep: Keep) -> None:
    with Server(python, servers(), UVICORN) as server:
        check_server(server, keep("uvicorn"), "--name", f"/uvicorn.*{server.port}/")


# ---- what an attached process starts


def test_everything_an_attached_process_starts(python: Interpreter, keep: Keep) -> None:
    path = keep("started")
    notes = path.with_suffix(".notes")
    notes.with_name(notes.name + ".attached").write_text(str(ENTERED_NS))
    options = ("-W", "ignore")
    # Each child goes on until it was entered: on a busy machine that may take longer than its work.
    with Target(python, TARGETS / "children.py", str(notes), options=options) as target:
        process = attach(target.pid, path)
        until(lambda: recorded(path), "it is recorded", process)
        code, _, err = target.end("\n")
        assert code == 0, err
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    told = [json.loads(line) for line in notes.read_text().splitlines()]
    assert len({note["kind"] for note in told}) == KINDS
    recording = read(path)
    burned = in_function(recording, "burn")
    missing = [note["kind"] for note in told if note["pid"] not in burned]
    assert not missing
    strange = {name for note in told for name in note["variables"] if name.startswith("SONDE")}
    assert not strange
    assert not [note for note in told if "LD_PRELOAD" in note["variables"]]


def test_a_program_that_becomes_another_while_attached(python: Interpreter, keep: Keep) -> None:
    path = keep("becomes")
    with Target(python, TARGETS / "execs_itself.py", "1", str(CHILD_NS)) as target:
        process = attach(target.pid, path)
        until(lambda: recorded(path), "it is recorded", process)
        code, out, err = target.end("\n")
        assert (code, out) == (0, f"done {target.pid}\n"), err
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    recording = read(path)
    assert [process.pid for process in recording.processes] == [target.pid] * 3
    assert [process.exit for process in recording.processes][:2] == ["replaced by exec"] * 2
    for name in ("first", "second", "third"):
        assert in_function(recording, name).get(target.pid, 0) > ENOUGH


# ---- one that cannot be entered


def test_one_that_cannot_be_entered_costs_the_others_nothing(
    any_python: Interpreter, keep: Keep
) -> None:
    path = keep("traced")
    options = ("-W", "ignore")
    with Target(any_python, "-c", FAMILY, options=options) as target:
        children = [int(word) for word in target.first[1:]]
        with traced(children[0]), recording_of(path, "--tree", str(target.pid)) as process:
            until(lambda: children[1] in recorded(path), "the other is recorded", process)
            until(lambda: read(path).quality.get("not_entered"), "the one is told of", process)
    assert f"could not attach to process {children[0]}: " in process.said  # type: ignore[attr-defined]
    assert "already traces it" in process.said  # type: ignore[attr-defined]
    recording = read(path)
    assert list(recording.quality["not_entered"]) == [str(children[0])]
    assert recorded(path) == {target.pid, children[1]}
    assert in_function(recording, "burn")[children[1]] > 0
    text = sonde("report", path, "quality").stdout
    assert "could not attach to 1 process of the target" in text


def test_a_recorder_of_many_that_is_killed_is_replaced(any_python: Interpreter, keep: Keep) -> None:
    path = keep("replaced")
    with Target(any_python, "-c", FAMILY, options=("-W", "ignore")) as target:
        everybody = {target.pid, *(int(word) for word in target.first[1:])}
        burning = everybody - {target.pid}
        with recording_of(path, "--tree", str(target.pid)) as process:
            until(lambda: recorded(path) >= everybody, "all are recorded", process)
            os.kill(recorder_of(process), signal.SIGKILL)
            until(lambda: recorded_again(path) >= burning, "all are entered again", process)
        until(lambda: not any(map(has_agent, everybody)), "the agents leave")
        assert target.end()[0] == 0
    said = process.said  # type: ignore[attr-defined]
    assert "another recorder continues" in said
    assert "of 3 processes, by 2 successive recorders" in said
    recording = read(path)
    assert recording.target["parts"] == 2
    assert len(recording.processes) == len(everybody)
    assert recording.quality["gap_ns"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_workers_that_become_another_user(python: Interpreter, keep: Keep) -> None:
    path = keep("drops")
    with Target(python, "-c", DROPS, options=("-W", "ignore")) as target:
        first = int(target.first[1])
        with recording_of(path, "--tree", str(target.pid)) as process:
            until(lambda: recorded(path) >= {target.pid, first}, "both are recorded", process)
            assert target.process.stdin is not None
            assert target.process.stdout is not None
            target.process.stdin.write("\n")
            target.process.stdin.flush()
            second = int(target.process.stdout.readline())
            until(lambda: in_function(read(path), "late"), "so is the third", process)
        until(lambda: not any(map(has_agent, (target.pid, first, second))), "the agents leave")
        recording = read(path)
        assert in_function(recording, "early").keys() == {first}
        assert in_function(recording, "late").keys() == {second}
        assert target.end()[0] == 0


# ---- wrong calls


def test_wrong_calls(tmp_path: Path) -> None:
    there = ("-o", str(tmp_path / "x.sonde"))
    me = str(os.getpid())
    for code, words, arguments in (
        (USAGE, "one of PID, --tree PID and --name", ()),
        (USAGE, "one of PID, --tree PID and --name", (me, "--tree", me)),
        (USAGE, "invalid PID", ("--tree", "me")),
        (USAGE, "leave out --no-children", ("--tree", me, "--no-children")),
        (USAGE, "invalid regular expression", ("--name", "/(/")),
        (USAGE, "give a glob or a /regex/", ("--name", "*")),
        (USAGE, "records a single process", ("--tree", me, "--sampler", "remote")),
        (FAILURE, "none of your processes matches", ("--name", f"no such thing {me}")),
        (FAILURE, "no process 4194305", ("--tree", "4194305")),
    ):
        done = sonde("attach", *arguments, *there)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    sleeper = subprocess.Popen(["sleep", "61"])
    try:
        done = sonde("attach", "--name", "sleep 61", *there)
        assert done.returncode == FAILURE
        assert "is not CPython" in done.stderr
        done = sonde("attach", "--tree", str(sleeper.pid), *there)
        assert "is not CPython" in done.stderr
    finally:
        sleeper.kill()
        sleeper.wait()
    assert list(tmp_path.iterdir()) == []


def test_a_name_does_not_match_who_calls_sonde(tmp_path: Path) -> None:
    """The command line of `sh -c "sonde attach --name X"` has the X in it, too."""
    path = tmp_path / "x.sonde"
    words = shlex.join([*SONDE, "attach", "--name", "nobody-has-this", "-o", str(path)])
    wrapper = [sys.executable, "-c", "import os, sys; sys.exit(os.system(sys.argv[1]) >> 8)", words]
    done = subprocess.run(wrapper, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "none of your processes matches nobody-has-this" in done.stderr
    assert not path.exists()
