"""Programs that run by themselves, to be attached to as a user does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, Run, clean_environment


class Target:
    """A running program that prints its pid first; ends with the `with` statement."""

    def __init__(
        self,
        python: Interpreter,
        script: Path | str = TARGETS / "attached.py",
        *arguments: str,
        options: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        **popen: Any,
    ) -> None:
        self.process = subprocess.Popen(
            [python.path, *options, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(**(env or {})),
            **popen,
        )
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline().split()
        assert self.first, self.process.communicate()[1]
        self.pid = int(self.first[0])

    def __enter__(self) -> Target:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def state(self) -> dict[str, Any]:
        """What attached.py says of itself."""
        assert self.process.stdout is not None
        self.write("state\n")
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self, text: str | None = None) -> tuple[int, str, str]:
        """Its input ends, with `text`, and so does it: exit code, output, errors."""
        out, err = self.process.communicate(text, timeout=TIMEOUT_S)
        return self.process.returncode, out, err

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


def attach(pid: int, path: Path, *options: str, **popen: Any) -> subprocess.Popen[str]:
    """`sonde attach PID -o path OPTIONS`, under way."""
    return attach_to(path, str(pid), *options, **popen)


def attach_to(path: Path, *arguments: str, **popen: Any) -> subprocess.Popen[str]:
    """`sonde attach` to whatever `arguments` name, under way."""
    return subprocess.Popen(
        [*SONDE, "attach", *arguments, "-o", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        **popen,
    )


def attached(pid: int, path: Path, *options: str) -> Run:
    """The same until it is over, and it went well."""
    process = attach(pid, path, *options)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return Run(process.returncode, out, err, path)


def until(condition: Callable[[], Any], what: str, by: subprocess.Popen[str] | None = None) -> Any:
    """Waits for something that must come, and returns it; `by` a process that must not end."""
    end = time.monotonic() + TIMEOUT_S
    asked = time.monotonic()
    while not (found := condition()):
        now = time.monotonic()
        assert by is None or by.poll() is None, by.communicate()[1]
        assert now < end, f"never: {what}"
        # Reading a recording over and over would take the processor from who writes it.
        time.sleep(max(0.01, 2 * (now - asked)))
        asked = time.monotonic()
    return found


def begun(path: Path) -> bool:
    """Whether the recorder has written samples."""
    return path.exists() and path.stat().st_size > 4096


def recorder_of(process: subprocess.Popen[str]) -> int:
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if b"sonde.record.recorder.main" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    raise AssertionError("sonde attach has no recorder")


def has_agent(pid: int, thread: str = "sonde-") -> bool:
    """Whether a thread of the process is the agent's, one whose name starts like this."""
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            if Path(f"/proc/{pid}/task/{task}/comm").read_text().startswith(thread):
                return True
        except OSError:
            continue
    return False


# Traces a process and lets everything pass; the name is seen by who asks who traces it.
TRACER = """
import ctypes, os, sys
open("/proc/self/comm", "w").write("onlooker")
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print("traces", flush=True)
while True:
    pid, status = os.waitpid(-1, 0x40000000)
    if not os.WIFSTOPPED(status): break
    libc.ptrace(7, pid, 0, os.WSTOPSIG(status))
"""


@contextlib.contextmanager
def traced(pid: int) -> Iterator[int]:
    """With another process that traces it, whose pid this is."""
    tracer = subprocess.Popen(
        [sys.executable, "-c", TRACER, str(pid)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stdout is not None
        assert tracer.stdout.readline() == "traces\n"
        yield tracer.pid
    finally:
        tracer.kill()
        tracer.communicate()
