"""Sessions steered while they run: by `sonde run`, `sonde attach` and by the program itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest

from attaching import attach, begun, has_agent, until
from environments import Environment, environment_of
from launching import SONDE, TARGETS, TESTS, TIMEOUT_S, Interpreter, clean_environment, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.errors import SondeError, UsageError
from sonde.record.control_client import ControlClient, socket_of
from sonde.record.targets import session_registry
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.locks.contentions import contended
from sonde.views.threads import threads
from truth.stacks import Stacks

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

SOURCE = TESTS.parent / "src"
WHAT = "cpu,locks"
# CPU time of the program after the last time it was asked for it: far less than any pause here.
ENDING_MS = 60


class AgentConnection:
    """tests/targets/steered.py, recorded one way or another, and its session's socket."""

    def __init__(
        self, environment: Environment, path: Path, way: str, what: str = WHAT, *options: str
    ) -> None:
        self.path, self.way = path, way
        script = str(TARGETS / "steered.py")
        command = [environment.path, script]
        if way == "run":
            command = [*SONDE, "run", "-o", str(path), "--what", what, *options, "--", *command]
        elif way == "api":
            command += [str(path), what]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(PYTHONPATH=str(SOURCE)),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        first = self.output.readline()
        assert first, self.process.communicate()[1]
        self.pid = int(first)
        self.attached = (
            attach(self.pid, path, "--what", what, *options) if way == "attach" else None
        )
        until(lambda: session_registry.find(self.pid), "a session", by=self.attached)
        self.orders = ControlClient(socket_of(str(self.pid)))
        # A session can be found as soon as the agent is there, and captures when it was entered.
        until(lambda: way != "attach" or self._entered(), "it is entered", by=self.attached)

    def _entered(self) -> bool:
        self.give("flush")
        return "entered" in read(self.give("status")["path"]).target

    def __enter__(self) -> AgentConnection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.orders.__exit__(kind, error, trace)
        for process in (self.process, self.attached):
            if process is not None:
                if process.poll() is None:
                    process.kill()
                process.communicate()

    def do(self, line: str) -> float:
        """How long it took by the program's own word, in milliseconds: no less than was asked."""
        self.tell(line)
        return self.done()

    def tell(self, line: str) -> None:
        self.input.write(line + "\n")
        self.input.flush()

    def done(self) -> float:
        word, _, took = self.output.readline().partition(" ")
        assert word == "done", self.process.communicate()[1]
        return int(took) / 1e6

    def give(self, do: str, **more: Any) -> dict[str, Any]:
        return self.orders.give({"do": do, **more})

    def end(self, what: Path | None = None) -> Recording:
        """The program ends, and with it the session, which is read from `what` or its file."""
        if self.way == "api":
            self.do("end")
        if self.attached is not None:
            self.attached.send_signal(signal.SIGINT)
            _, said = self.attached.communicate(timeout=TIMEOUT_S)
            assert self.attached.returncode == 0, said
        _, said = self.process.communicate(timeout=TIMEOUT_S)
        assert self.process.returncode == 0, said
        assert "Traceback" not in said
        recording = read(what or self.path)
        assert recording.warnings == []
        return recording


Make = Callable[..., AgentConnection]


def _making(environment: Environment, folder: Path) -> Iterator[Make]:
    made: list[AgentConnection] = []

    def make(way: str, what: str = WHAT, *options: str) -> AgentConnection:
        made.append(AgentConnection(environment, folder / f"{way}.sonde", way, what, *options))
        return made[-1]

    yield make
    for one in made:
        one.__exit__(None, None, None)


@pytest.fixture
def steered(environment: Environment, tmp_path: Path) -> Iterator[Make]:
    yield from _making(environment, tmp_path)


@pytest.fixture
def steered_once(any_python: Interpreter, tmp_path: Path) -> Iterator[Make]:
    """For what does not depend on the interpreter."""
    yield from _making(environment_of(any_python), tmp_path)


@dataclass(frozen=True)
class Spent:
    """The samples within one function, in milliseconds of CPU time."""

    ms: float
    samples: int
    period: float
    """What most of them stand for. Where the machine was taken away, one stands for all of that."""
    least: float
    most: float

    def is_right(self, ms: float) -> bool:
        """Whether so much can have been spent there.

        A sample stands for the CPU time since the last: the first one also for time before, and
        the one after the last for what was left. Two periods more for the clocks' differences.
        """
        return self.least - 2 * self.period <= ms <= self.most + 2 * self.period


def spent(recording: Recording, *names: str) -> dict[str, Spent]:
    """What was sampled within functions of these names, which run in the main thread."""
    stacks, samples = Stacks(recording), recording.samples
    ran = (samples.state == 0) & (samples.thread == recording.threads.name.index("MainThread"))
    context, weights = samples.context[ran], samples.weight[ran] / 1e6
    found = {}
    for name in names:
        inside = stacks.below(lambda frame, name=name: frame.code.name == name)
        (mine,) = ((context >= 0) & inside[context]).nonzero()
        if not len(mine):
            found[name] = Spent(0, 0, 0, 0, 0)
            continue
        total = float(weights[mine].sum())
        after = float(weights[mine[-1] + 1 :][:1].sum())
        period = float(np.median(weights[mine]))
        found[name] = Spent(total, len(mine), period, total - weights[mine[0]], total + after)
    return found


@pytest.mark.parametrize("way", ["run", "attach", "api"])
def test_rates_and_pauses_leave_the_figures_right(steered: Make, way: str) -> None:
    it = steered(way)
    first = it.do("burn first 100")
    it.give("rate", hz=200)
    second = it.do("burn second 200")
    it.give("pause")
    paused = it.do("burn paused 100")
    assert it.give("status")["state"] == "paused"
    it.give("resume")
    it.give("rate", hz=4000)
    third = it.do("burn third 100")
    status = it.give("status")
    assert (status["state"], status["rate"], status["what"]) == (
        "recording",
        4000,
        ["cpu", "locks"],
    )
    used = it.do("clock")
    recording = it.end()
    found = spent(recording, "first", "second", "paused", "third")
    assert found["first"].is_right(first), (found["first"], first)
    assert found["second"].is_right(second), (found["second"], second)
    assert found["paused"].samples == 0
    assert found["third"].is_right(third), (found["third"], third)
    # Less where the hypervisor takes of it: the timer goes on, and the thread's clock does not.
    assert 0.4 < found["first"].period < 1.2
    assert 2 < found["second"].period < 6
    assert found["third"].period < 0.3
    quality = recording.quality
    assert [rate for _, rate in quality["rates"]] == [1000, 200, 4000]
    assert quality["paused_ns"] == int((recording.pauses.end_ns - recording.pauses.start_ns).sum())
    assert quality["lost"] == 0
    # What was not captured counts for nobody: neither as a thread's time nor as time unseen.
    assert not any(name.startswith("[") for name in recording.threads.name)
    (main,) = [row for row in threads(recording).rows if row.name == "MainThread"]
    assert main.wall_ns <= recording.target["duration_ns"] - quality["paused_ns"] + 20_000_000
    assert main.cpu_ns <= (used - paused + ENDING_MS) * 1e6


@pytest.mark.parametrize("way", ["run", "attach"])
def test_what_is_captured_changes(steered: Make, way: str) -> None:
    it = steered(way)
    burnt, fought = {}, []
    fought.append(it.do("fight 100"))
    it.give("what", list=["cpu"])
    it.do("fight 100")
    burnt["first"] = it.do("burn first 60")
    it.give("what", list=["locks"])
    it.do("burn second 60")
    fought.append(it.do("fight 100"))
    it.give("what", list=["cpu", "waits"])
    burnt["third"] = it.do("burn third 60")
    began = time.monotonic()
    it.do("fight 100")
    whole_fight = time.monotonic() - began
    it.give("what", list=["cpu", "locks"])
    burnt["fourth"] = it.do("burn fourth 60")
    recording = it.end()
    found = spent(recording, "first", "second", "third", "fourth")
    assert found["second"].samples == 0
    for name, ms in burnt.items():
        assert found[name].is_right(ms), (name, found[name], ms)
    stacks = Stacks(recording)
    inside = stacks.below(lambda frame: frame.code.name == "fight")
    # Another thread has the lock for 100 ms from when it is wanted. Waits for that thread to start
    # and to end are signals, and as long as the machine is busy.
    everything = contended(recording)
    found_waits = everything.found
    long = (found_waits.length > 50e6) & ~everything.signalling & (found_waits.context >= 0)
    fights = found_waits.length[long & inside[found_waits.context]] / 1e6
    assert sorted(fights.tolist()) == pytest.approx(sorted(fought), abs=20)
    waited = (recording.samples.state == 1) & (recording.samples.context >= 0)
    waited &= inside[recording.samples.context]
    # One of the four fights: had it been captured in another one too, it would be twice as much.
    assert 50e6 <= int(recording.samples.weight[waited].sum()) < whole_fight * 1e9 + 20e6


def test_what_cannot_be_switched_on_is_said(steered_once: Make) -> None:
    it = steered_once("run", "cpu")
    with pytest.raises(SondeError, match="locks cannot be enabled"):
        it.give("what", list=["cpu", "locks"])
    with pytest.raises(SondeError, match="objects cannot be enabled"):
        it.give("what", list=["cpu", "objects"])
    assert it.give("what", list=["+threads"])["what"] == ["cpu", "threads"]
    assert it.give("what", list=["-threads"])["what"] == ["cpu"]
    with pytest.raises(SondeError, match="no wrap buffer"):
        it.give("dump", file="x.sonde")
    with pytest.raises(SondeError, match="has no segments"):
        it.give("rotate")
    for wrong in (
        {"do": "rate", "hz": 0},
        {"do": "rate", "hz": "fast"},
        {"do": "what", "list": ["dreams"]},
        {"do": "what", "list": []},
        {"do": "mark"},
        {"do": "sing"},
        {},
    ):
        with pytest.raises(UsageError):
            it.orders.give(wrong)
    it.give("mark", text="still here")
    it.do("burn first 30")
    # It may go on growing before we look.
    until(lambda: it.give("flush")["size"] == os.stat(it.path).st_size, "all is in the file")
    assert read(it.path).marks.text == ["still here"]
    assert spent(it.end(), "first")["first"].ms >= 25


def test_a_wait_counts_without_the_pause_in_it(steered: Make) -> None:
    it = steered("run")
    it.tell("fight 0")
    until(lambda: it.give("flush") and len(read(it.path).lock_events), "the wait began")
    it.give("pause")
    until(lambda: it.give("status")["paused_ns"] > 100_000_000, "a pause")
    it.give("resume")
    it.tell("now it ends")
    wanted = it.done() * 1e6
    recording = it.end()
    paused = recording.quality["paused_ns"]
    waits = contended(recording).found
    assert paused >= 100_000_000
    longest: dict[int, int] = {}
    for wait, ns in zip(waits.wait.tolist(), waits.length.tolist(), strict=True):
        longest[wait] = longest.get(wait, 0) + ns
    assert abs(max(longest.values()) - (wanted - paused)) < 60_000_000


# ---- where it is kept


@pytest.mark.parametrize("way", ["run", "attach"])
def test_parts_are_begun_by_order_also_in_a_pause(
    steered_once: Make, tmp_path: Path, way: str
) -> None:
    it = steered_once(way, "cpu,locks,threads", "--mode", "continuous")
    first = it.do("burn first 100")
    assert it.give("rotate")["path"] == str(tmp_path / f"{way}.0002.sonde")
    second = it.do("burn second 60")
    it.give("rate", hz=4000)
    it.give("pause")
    it.give("rotate")
    in_pause = it.do("burn paused 100")
    third_part = tmp_path / f"{way}.0003.sonde"
    until(lambda: it.give("flush")["size"] == os.stat(third_part).st_size, "all is in the file")
    it.give("rotate")
    it.give("resume")
    third = it.do("burn third 60")
    status = it.give("status")
    assert (status["mode"], status["part"], status["rate"]) == ("continuous", 4, 4000)
    assert status["quality"]["taken"] > 100
    all_of_it = it.do("clock")
    recording = it.end(tmp_path / f"{way}.*.sonde")
    assert recording.target["parts"] == 4
    assert not recording.quality.get("gap_ns")
    found = spent(recording, "first", "second", "paused", "third")
    for name, ms in (("first", first), ("second", second), ("third", third)):
        assert found[name].is_right(ms), (name, found[name], ms)
    assert found["paused"].samples == 0
    assert [rate for _, rate in recording.quality["rates"]] == [1000, 4000]
    # Three parts have their shares of one pause.
    assert len(recording.pauses) == 1
    paused = int((recording.pauses.end_ns - recording.pauses.start_ns).sum())
    assert recording.quality["paused_ns"] == paused
    parts = [read(tmp_path / f"{way}.{n:04d}.sonde") for n in range(1, 5)]
    assert [len(part.pauses) for part in parts] == [0, 1, 1, 1]
    (main,) = [row for row in threads(recording).rows if row.name == "MainThread"]
    assert main.wall_ns <= recording.target["duration_ns"] - paused + 20_000_000
    most = (all_of_it - in_pause + ENDING_MS) * 1e6
    assert main.cpu_ns <= most
    # What was used in the pause is in no step of the metrics, and every step in one part only.
    mine = recording.threads.name.index("MainThread")
    used = recording.metrics.cpu_ns[recording.metrics.thread == mine]
    # The counters of perf go on while the hypervisor has the processor; the thread's clock may not.
    assert int(used.sum()) <= most + recording.quality["steal_ns"]
    assert int(used.sum()) >= (first + second + third) * 1e6 - 60e6
    assert len(recording.metrics) == sum(len(part.metrics) for part in parts)


def test_a_flight_recorder_is_read_out_by_order(steered_once: Make, tmp_path: Path) -> None:
    it = steered_once("run", WHAT, "--mode", "wrap", "--seconds", "20")
    it.do("burn first 60")
    it.give("pause")
    dumped = sonde("ctl", str(it.pid), "dump", "asked.sonde", cwd=tmp_path)
    asked = tmp_path / "asked.sonde"
    assert dumped.stdout == f"wrote {asked}\n", dumped.stderr
    it.give("resume")
    it.do("burn second 60")
    status = sonde("ctl", str(it.pid), "status").stdout
    assert "Memory " in status
    assert it.give("flush")["size"] > 0
    with pytest.raises(SondeError, match="could not write the last seconds: cannot write"):
        it.give("dump", file=str(tmp_path / "nowhere" / "x.sonde"))
    assert sonde("top", str(it.pid), "--once").returncode == 1
    found = spent(read(asked), "first", "second")
    assert found["first"].ms >= 55
    assert found["second"].samples == 0
    # The pause it was dumped in is told as far as it had come.
    assert len(read(asked).pauses) == 1
    assert read(asked).target["dumped"] == "requested"
    found = spent(it.end(), "first", "second")
    assert min(found["first"].ms, found["second"].ms) >= 55


def test_what_is_hot_is_told_by_order(steered_once: Make) -> None:
    it = steered_once("run", "cpu", "--mode", "wrap")
    it.do("burn first 60")
    hot = it.give("hot", top=3)
    assert 1 <= len(hot["hot"]) <= 3
    names = {hot["functions"][number][0] for row in hot["hot"] for number, _ in row["chain"]}
    assert "first" in names
    with pytest.raises(SondeError, match="invalid number of rows 'many'; give 1 to 100"):
        it.give("hot", top="many")
    told = sonde("ctl", str(it.pid), "hot")
    assert told.returncode == 0
    assert "of CPU time in" in told.stdout
    it.end()


@pytest.mark.parametrize(
    ("way", "command"),
    [("run", "stop"), ("attach", "stop"), ("api", "stop"), ("run", "detach")],
)
def test_stopping_leaves_the_program_alone(steered: Make, way: str, command: str) -> None:
    it = steered(way)
    it.do("burn first 60")
    told = it.give(command)
    assert told["path"] == str(it.path)
    assert told["size"] == os.stat(it.path).st_size
    recording = read(it.path)
    assert recording.warnings == []
    assert recording.target["note"] == "detached"
    it.do("burn second 30")
    it.do("fight 20")
    it.do("open")  # an audit event, at which an agent that nobody steers leaves
    assert not has_agent(it.pid)
    assert "memfd:sonde" not in Path(f"/proc/{it.pid}/maps").read_text()
    with pytest.raises(SondeError, match="over"):
        it.give("status")
    with pytest.raises(SondeError, match="not being recorded"):
        socket_of(str(it.pid))
    found = spent(it.end(), "first", "second")
    assert found["first"].ms >= 55
    assert found["second"].samples == 0


# ---- the command line


def test_the_command_line(steered_once: Make, tmp_path: Path) -> None:
    it = steered_once("run")
    pid = str(it.pid)
    status = sonde("ctl", pid, "status")
    assert status.returncode == 0
    assert f"Processes  {pid}" in status.stdout
    assert json.loads(sonde("ctl", pid, "status", "--json").stdout)["state"] == "recording"
    assert sonde("ctl", pid, "mark", "half", "way").stdout == "marked\n"
    path = socket_of(pid)
    assert "500 samples" in sonde("ctl", path, "rate", "500").stdout
    typed = "status\nwhat cpu\nsing\nwhat dreams\n\nhelp\nmark typed\nquit\n"
    prompt = sonde("ctl", pid, text=typed)
    assert prompt.returncode == 0
    assert "recording cpu" in prompt.stdout
    assert "invalid command 'sing'; valid commands: status, pause" in prompt.stderr
    assert "invalid kind 'dreams'" in prompt.stderr
    assert read_marks(it) == ["half way", "typed"]
    for words, code, said in (
        (["ctl", pid, "sing"], 2, "invalid command 'sing'"),
        (["ctl", pid, "rate", "fast"], 2, "whole number"),
        (["ctl", pid, "rate"], 2, "needs a HZ"),
        (["ctl", pid, "pause", "now"], 2, "takes no argument"),
        (["ctl", pid, "rate", "0"], 2, "must be between"),
        (["ctl", pid, "dump", "x"], 1, "no wrap buffer"),
        (["ctl", pid, "rotate"], 1, "has no segments"),
        (["ctl", pid, "rotate", "now"], 2, "takes no argument"),
        (["ctl", str(os.getpid()), "status"], 1, "is not being recorded"),
        (["ctl", "999999999", "status"], 1, "no process"),
        (["ctl", str(tmp_path / "nothing"), "status"], 1, "no session"),
    ):
        done = sonde(*words)
        assert done.returncode == code, done.stderr
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    for word, answer in (
        ("pause", "paused"),
        ("resume", "recording"),
        ("pause", "paused"),
        ("start", "recording"),
    ):
        assert sonde("ctl", pid, word).stdout == f"{answer}\n"
    ended = sonde("ctl", pid, "stop")
    assert ended.stdout.startswith("recording ended; read it with: sonde report ")
    dead = sonde("ctl", path, "status")
    assert dead.returncode == 1
    # As the socket is still there or not.
    assert "no session" in dead.stderr or "is over" in dead.stderr
    it.end()


def read_marks(it: AgentConnection) -> list[str]:
    it.give("flush")
    return read(it.path).marks.text


# ---- who may


ASK = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
except PermissionError:
    sys.exit("no permission")
try:
    s.sendall(b'{"do": "detach"}\\n')
    answer = s.recv(99)
except OSError:
    answer = b""
sys.exit(str(answer) if answer else "nothing")
"""


def as_nobody(path: Path) -> str:
    """What another user gets who asks for the session's end."""
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", ASK, str(path)],
        capture_output=True,
        text=True,
        user=65534,
        group=65534,
        extra_groups=[],
        check=False,
        timeout=TIMEOUT_S,
    )
    return done.stderr.strip()


def test_only_the_owner_can_open_the_socket(steered_once: Make) -> None:
    it = steered_once("run")
    path = Path(socket_of(str(it.pid)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    if os.getuid() != 0:
        pytest.skip("only root can try as another user")
    assert as_nobody(path) == "no permission"
    # Even one who is let in by the file system is not listened to.
    os.chmod(path.parent, 0o755)
    os.chmod(path, 0o666)
    assert as_nobody(path) == "nothing"
    assert it.give("status")["state"] == "recording"


def test_nonsense_on_the_socket_harms_nobody(steered_once: Make) -> None:
    it = steered_once("run")
    path = socket_of(str(it.pid))
    for nonsense in (
        b"\n",
        b"\xff\n",
        b"[]\n",
        b"{" * 100_000 + b"\n",
        b"x" * 200_000,
        b"1\n" * 5000,
    ):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(TIMEOUT_S)
            s.connect(path)
            try:
                s.sendall(nonsense)
                s.shutdown(socket.SHUT_WR)
                answer = s.recv(1 << 20)
            except OSError:
                answer = b""
            assert not answer or b'"error"' in answer
    it.do("burn first 50")
    assert spent(it.end(), "first")["first"].ms >= 45


def test_a_session_is_announced_only_while_it_lasts(steered_once: Make) -> None:
    it = steered_once("run")
    folder = Path(socket_of(str(it.pid))).parent
    it.end()
    assert not folder.exists()
    assert session_registry.find(it.pid) is None
    assert begun(it.path) or it.path.exists()
