"""Programs that keep books of their waits, each recorded once per interpreter and session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environment
from launching import TIMEOUT_S, Interpreter, Run, clean_environment, must_run

from sonde.recording.reader import read
from truth.locks.books import Books

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
SOURCE = HERE.parents[2] / "src"

Get = Callable[..., Books]


@pytest.fixture(scope="session")
def doze(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that sleeps without the GIL and knows when it asks for it again."""
    library = tmp_path_factory.mktemp("doze") / "doze.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", library, PROGRAMS / "doze.c"]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="session")
def contended(python: Interpreter, keep: Callable[[str], Path], doze: Path) -> Get:
    """The program of that name under `sonde run`, recorded at the first call."""
    done: dict[str, Books] = {}
    arguments = {"gil": [doze], "deadlock": ["1.5"]}

    def get(name: str) -> Books:
        if name not in done:
            path = keep(f"{name}-{python.version}")
            command = [python.path, PROGRAMS / f"{name}.py", *arguments.get(name, ())]
            environment = clean_environment(PYTHONDONTWRITEBYTECODE="1")
            run = must_run(path, command, "--what", "cpu,locks", env=environment)
            done[name] = Books(run.recording, run.told)
        return done[name]

    return get


def run_program(environment: Environment, name: str, path: Path) -> str:
    """What a program says that records itself there."""
    done = subprocess.run(
        [environment.path, "-W", "ignore", PROGRAMS / name, path],
        env=clean_environment(PYTHONPATH=str(SOURCE), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def sessions(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Get:
    """The recordings that sessions.py makes of itself, by name."""
    folder = tmp_path_factory.mktemp("sessions")
    told = Run(0, run_program(environment, "sessions.py", folder), "", folder).told
    return lambda name: Books(read(folder / f"{name}.sonde"), told)
