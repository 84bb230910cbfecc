"""Running programs under sonde the way a user does."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sonde.recording.reader import read
from sonde.recording.tables import Recording

TESTS = Path(__file__).resolve().parent
TARGETS = TESTS / "targets"

# No target here runs for longer than seconds; a hang is a failure, not a wait.
TIMEOUT_S = 60

_launcher = Path(sys.executable).with_name("sonde")
SONDE: list[str] = (
    [str(_launcher)]
    if _launcher.exists()
    else [sys.executable, "-c", "import sys; from sonde.cli.main import main; sys.exit(main())"]
)


@dataclass(frozen=True)
class Interpreter:
    version: str
    path: str

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])


@dataclass(frozen=True)
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str
    path: Path

    @functools.cached_property
    def recording(self) -> Recording:
        return read(self.path)

    @functools.cached_property
    def told(self) -> dict[str, Any]:
        """What the program said about itself: the JSON of its last line."""
        answer: dict[str, Any] = json.loads(self.out.strip().splitlines()[-1])
        return answer


def clean_environment(**more: str) -> dict[str, str]:
    """Ours without what would make a target's Python another one."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "COV_"))}
    return kept | more


def sonde(
    *arguments: str | os.PathLike[str],
    env: Mapping[str, str] | None = None,
    text: str | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Any verb."""
    return subprocess.run(
        [*SONDE, *map(os.fspath, arguments)],
        env=clean_environment() if env is None else dict(env),
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=TIMEOUT_S,
        check=False,
    )


def run_command(
    path: Path,
    command: Sequence[str | os.PathLike[str]],
    *options: str,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
    cwd: Path | None = None,
) -> Run:
    """`sonde run -o path OPTIONS -- COMMAND`."""
    # Some tests record into one file again and again.
    done = sonde(
        "run", "-o", path, "--force", *options, "--", *command, env=env, text=text, cwd=cwd
    )
    return Run(done.returncode, done.stdout, done.stderr, path)


def denied(calls: str) -> list[str]:
    """Before a command: refuses it these system calls, as a container's seccomp filter does."""
    return [sys.executable, str(TESTS / "denied.py"), calls, "--"]


def run_denied(
    calls: str, path: Path, command: Sequence[str | os.PathLike[str]], *options: str
) -> Run:
    """`sonde run` of a command that is to end well, in such a container."""
    done = subprocess.run(
        [*denied(calls), *SONDE, "run", "-o", path, "--force", *options, "--", *command],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return Run(done.returncode, done.stdout, done.stderr, path)


def must_run(
    path: Path, command: Sequence[str | os.PathLike[str]], *options: str, **others: Any
) -> Run:
    """The same for a target that is to end well, whose end shows in the recording too."""
    done = run_command(path, command, *options, **others)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err, done.err
    return done


def sampled(recording: Recording) -> int:
    """Rows that samplers took: one more may stand for all threads too short for a sample."""
    names = np.array([name.startswith("[") for name in recording.threads.name], dtype=bool)
    return int(np.count_nonzero(~names[recording.samples.thread]))
