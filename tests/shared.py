"""What all processes of a test run share: whoever needs something first makes it for the others."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder of this run, which is one for all its workers; another run has its own."""
    base = factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder, filled by one process; if that failed, the next that asks tries again."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            make(folder)
            (folder / "done").touch()
    return folder
