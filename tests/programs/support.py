"""Real programs, run alone and under sonde, and what a recording of one must show."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from attaching import attach_to, until
from launching import SONDE, TIMEOUT_S, clean_environment
from matrix import soak
from sonde.record.targets.session_registry import running
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import RUNNING, WAITING
from truth.stacks import Stacks

APPS = Path(__file__).resolve().parent / "apps"
Keep = Callable[[str], Path]

WAITS = ("--what", "cpu,waits,locks")
CALLS = ("--what", "cpu,calls")
MODES: dict[str, tuple[str, ...]] = {"default": (), "waits": WAITS, "calls": CALLS}
TRIED_MODES = (soak("default"), "waits", "calls")
"""Of each program; all that is recorded by default is also recorded with `waits`."""

MARK = "TEST_PROGRAM_MARK"
# Stacks that cannot be decoded, and samples that are lost: at most this share of a recording.
LOST_LIMIT = 0.01


def under_sonde(path: Path, options: Sequence[str]) -> list[str]:
    """What stands before a command that `sonde run` records into `path`."""
    return [*SONDE, "run", "-o", str(path), *options, "--"]


class Program:
    """A command, run alone or by `sonde run`; the `with` statement ends it.

    Its output goes to files: nobody need read it while the program runs.
    """

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        folder: Path,
        options: Sequence[str] | None = None,
        path: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.DEVNULL,
    ) -> None:
        """`options`: those of `sonde run`, which records into `path`; None: run it alone."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, path
        self.mark = uuid.uuid4().hex
        words = [os.fspath(word) for word in command]
        if options is not None:
            assert path is not None
            words = [*under_sonde(path, options), *words]
        with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
            self.process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=stdin,
                stdout=out,
                stderr=err,
                text=True,
                env=clean_environment(
                    **{"PYTHONDONTWRITEBYTECODE": "1", MARK: self.mark, **(env or {})}
                ),
            )

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        for pid in self.leftovers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        """What it wrote, without the lines of sonde."""
        lines = (self.folder / "err").read_text().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("sonde: "))

    @property
    def recording(self) -> Recording:
        assert self.path is not None
        return read(self.path)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        """Its exit code; it leaves no process behind."""
        try:
            code = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.out}{self.err}") from None
        end = time.monotonic() + 5
        while (left := self.leftovers()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left, {pid: _command_line(pid) for pid in left}
        return code

    def leftovers(self) -> list[int]:
        """Processes that the command has started, by a variable in their environment."""
        mark, found = f"{MARK}={self.mark}".encode(), []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != self.process.pid:
                with contextlib.suppress(OSError):
                    if mark in Path(f"/proc/{name}/environ").read_bytes():
                        found.append(int(name))
        return found


class RunningProgram:
    """Somebody's use of a `program`, which ends with the `with` statement."""

    program: Program

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.program.__exit__(*error)

    def files(self) -> list[str]:
        """What it has left in its folder."""
        return sorted(path.name for path in self.program.folder.iterdir())


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return "it is gone"


def alone(command: Sequence[str | os.PathLike[str]], folder: Path, **others: Any) -> Program:
    """A command that ends by itself, until it has."""
    with Program(command, folder, **others) as program:
        program.wait()
    return program


def facts(program: Program) -> dict[str, Any]:
    """What somebody sees of a program that is over."""
    return {"code": program.process.returncode, "out": program.out, "err": program.err}


def check_same(found: dict[str, Any], plain: dict[str, Any]) -> None:
    """One fact after the other, what a program says of its end first: it explains the others."""
    assert found.keys() == plain.keys()
    for name in sorted(plain, key=lambda name: name not in ("code", "err")):
        assert found[name] == plain[name], f"{name}: {found[name]!r} instead of {plain[name]!r}"


# ---- what a process holds


def descriptors(pid: int) -> list[str]:
    """What its descriptors are, without sockets and pipes' numbers."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}").split(":[")[0])
    return sorted(found)


STEADY = 10


def steady_descriptors(
    pids: Sequence[int], own: Callable[[str], bool] = lambda _: True
) -> dict[int, list[str]]:
    """Those that processes hold while they are idle, of which `own` is true.

    Somebody may see an answer before a server has closed the connection it came by.
    """
    end, seen, last = time.monotonic() + TIMEOUT_S, 0, None
    while seen < STEADY:
        assert time.monotonic() < end, f"they change all the time: {last}"
        now = {pid: [name for name in descriptors(pid) if own(name)] for pid in pids}
        seen = seen + 1 if now == last else 1
        last = now
        time.sleep(0.05)
    assert last is not None
    return last


def thread_names(pid: int) -> list[str]:
    found = []
    for name in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/task/{name}/comm").read_text().strip())
    return sorted(found)


def check_left(pids: Iterable[int]) -> None:
    """No thread of an agent is in these processes any more."""
    for pid in pids:
        assert not [name for name in thread_names(pid) if name.startswith("sonde")]


# ---- what a recording shows


def seconds_in(
    recording: Recording, *names: str, state: int = RUNNING, pid: int | None = None
) -> float:
    """Time in any of these functions and what they call; no name: in all that was sampled."""
    samples = recording.samples
    chosen = samples.state == state
    if pid is not None:
        pids = np.array([recording.processes[p].pid for p in recording.threads.process])
        chosen &= pids[samples.thread] == pid
    if names:
        found = Stacks(recording).below(lambda frame: frame.code.name.split(".")[-1] in names)
        chosen &= found[samples.context]
    return float(samples.weight[chosen].sum()) / 1e9


def share_in(recording: Recording, *names: str, pid: int | None = None) -> float:
    """Of the CPU time of a recording, or of one process in it."""
    return seconds_in(recording, *names, pid=pid) / max(seconds_in(recording, pid=pid), 1e-9)


def waited_in(recording: Recording, *names: str) -> float:
    return seconds_in(recording, *names, state=WAITING)


def contended(recording: Recording, made_of: str) -> int:
    """Events of locks of one kind that somebody had to wait for."""
    kinds = np.array([kind == made_of for kind in recording.locks.made_of], dtype=bool)
    return int(np.count_nonzero(kinds[recording.lock_events.lock])) if len(kinds) else 0


def check_quality(recording: Recording) -> None:
    """Nothing missing beyond the stated limit, and nothing that could not be followed."""
    quality = recording.quality
    assert recording.warnings == []
    assert not quality.get("not_entered"), quality["not_entered"]
    assert quality["taken"] > 0
    assert quality["lost"] <= LOST_LIMIT * quality["taken"], quality
    assert quality["undecodable"] <= LOST_LIMIT * quality["taken"] + 1, quality
    assert not quality["events_lost"], quality
    assert not quality["truncated"], quality


def wait_until_recorded(path: Path, pids: Iterable[int]) -> None:
    """Until all these processes are recorded into this file."""
    wanted = set(pids)

    def recorded() -> bool:
        sessions = (session for session in running() if session.path == str(path))
        return wanted <= {pid for session in sessions for pid in session.pids}

    until(recorded, f"{wanted} are recorded")


@contextlib.contextmanager
def attached_to(path: Path, *arguments: str, pids: Collection[int] = ()) -> Iterator[None]:
    """`sonde attach` while the block runs; it begins when all `pids` are recorded.

    Unless given those are the ones it is told to attach to.
    """
    pids = pids or [int(argument) for argument in arguments if argument.isdecimal()]
    process = attach_to(path, *arguments)
    try:
        until(lambda: path.exists() and path.stat().st_size > 512, "something is recorded", process)
        wait_until_recorded(path, pids)
        yield
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        assert "Traceback" not in err, err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
