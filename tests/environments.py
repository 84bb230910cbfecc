"""An environment for each interpreter in which sonde can be imported, kept in the user's cache.

`sonde.record(...)` runs inside the program it records, so that interpreter needs sonde's own
dependencies: for recording that is zstandard alone, and from 3.14 on nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import pythons
from launching import Interpreter

NEEDED = "zstandard>=0.22; python_version < '3.14'"
SERVERS = ("gunicorn>=23", "uvicorn>=0.30")
GREENLETS = ("greenlet>=3.1",)


@dataclass(frozen=True)
class Environment:
    """An interpreter that finds sonde and what it needs to record."""

    python: Interpreter
    path: str


def environment_of(python: Interpreter) -> Environment:
    folder = pythons.cache_folder().parent / "test-environments"
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / python.version
    with open(folder / f"{python.version}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _works(home, python):
            shutil.rmtree(home, ignore_errors=True)
            _make(home, python)
    return Environment(python, str(home / "bin" / "python"))


def _works(home: Path, python: Interpreter) -> bool:
    question = "import sys; print(sys.version.split()[0], sys.base_prefix)"
    module = "zstandard" if python.minor < 14 else "compression.zstd"

    def answer(path: str, text: str) -> str:
        try:
            return subprocess.run(
                [path, "-I", "-c", text], capture_output=True, text=True, check=False, timeout=60
            ).stdout
        except OSError:
            return ""

    ours = answer(str(home / "bin" / "python"), f"import {module}; {question}")
    return bool(ours) and ours == answer(python.path, question)


def _make(home: Path, python: Interpreter) -> None:
    subprocess.run([python.path, "-m", "venv", "--without-pip", home], check=True, timeout=120)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "-q", NEEDED],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if done.returncode:
        pytest.skip(f"zstandard cannot be had for CPython {python.version}: {done.stderr[-200:]}")


def servers() -> str:
    """A folder with gunicorn and uvicorn, which are pure Python: one for every interpreter."""
    return _packages("servers", SERVERS)


def greenlets(python: Interpreter) -> str:
    """A folder with greenlet, which is built for one interpreter."""
    return _packages(f"greenlet-{python.version}", GREENLETS, "--python", python.path)


def wheels(kind: str, wanted: Sequence[str], python: Interpreter) -> str:
    """A folder with packages for one interpreter; a test without their wheels is skipped."""
    return _packages(
        f"{kind}-{python.version}",
        wanted,
        "--python",
        python.path,
        install=("--only-binary=:all:",),
    )


def _packages(name: str, wanted: Sequence[str], *options: str, install: Sequence[str] = ()) -> str:
    folder = pythons.cache_folder().parent / "test-environments"
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / name
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", *options, "install", "-q", *install]
            done = subprocess.run(
                [*pip, "--target", home, *wanted],
                capture_output=True,
                text=True,
                check=False,
                timeout=280,
                env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            )
            if done.returncode:
                pytest.skip(f"{' and '.join(wanted)} cannot be had: {done.stderr[-200:]}")
            (home / "ready").touch()
    return str(home)
