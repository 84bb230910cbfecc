"""JDKs and compiled Java programs for tests."""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jdks
from launching import TIMEOUT_S, clean_environment


@dataclass(frozen=True)
class Jdk:
    version: str
    home: Path

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    @property
    def java(self) -> str:
        return str(self.home / "bin" / "java")

    def __str__(self) -> str:
        return f"jdk{self.version}"


@functools.cache
def all_jdks() -> list[Jdk]:
    """By version; the tests of Java are skipped with a word where there is none."""
    found = [Jdk(version, home) for home, version in jdks.found().items()]
    return sorted(found, key=lambda jdk: (jdk.major, jdk.version))


def class_path(*places: Path) -> str:
    return os.pathsep.join(map(str, places))


def compiled(sources: Path, into: Path, libraries: Sequence[Path] = ()) -> Path:
    """The class files of a program, or a folder's, made by the oldest JDK for all of them."""
    programs = sorted(sources.glob("*.java")) if sources.is_dir() else [sources]
    path = ["-cp", class_path(*libraries)] if libraries else []
    into.mkdir(parents=True, exist_ok=True)
    with open(into / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (into / "done").exists():
            compiler = all_jdks()[0].home / "bin" / "javac"
            done = subprocess.run(
                [compiler, "-g", "-d", into, *path, *programs],
                capture_output=True,
                text=True,
                env=clean_environment(),
                timeout=TIMEOUT_S,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            (into / "done").touch()
    return into
