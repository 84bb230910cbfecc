"""The JVM inside a running process: which one it is, and whether it is up."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..system import elf
from ..system.procfs import words_of

OLDEST = 17

_LIBRARY = "libjvm.so"
_SIGQUIT_CAUGHT = 1 << (3 - 1)


@dataclass(frozen=True)
class Jvm:
    """A HotSpot in a process."""

    module: elf.Module
    """Its libjvm.so."""
    version: str
    """As its `release` file states: "17.0.15"; empty where there is none."""
    options: tuple[str, ...]
    """What it was started with, as far as it can be seen: arguments and the variables it reads."""

    @property
    def major(self) -> int:
        number = self.version.partition(".")[0]
        return int(number) if number.isdecimal() else 0


def find(pid: int) -> Jvm | None:
    """The JVM of process `pid`."""
    for module in elf.modules(pid):
        if os.path.basename(module.path) == _LIBRARY:
            return Jvm(module, _version(pid, module.path), _options(pid))
    return None


def is_up(pid: int) -> bool:
    """Whether it has come so far that it answers: it catches SIGQUIT near the end of its start.

    Before that the signal would kill it, and its structures are not whole.
    """
    try:
        with open(f"/proc/{pid}/status", errors="replace") as f:
            for line in f:
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) & _SIGQUIT_CAUGHT)
    except (OSError, ValueError, IndexError):
        pass
    return False


def version_of(home: str) -> str:
    """What the `release` file of a JDK or JRE says; empty if there is none."""
    try:
        with open(os.path.join(home, "release"), errors="replace") as f:
            for line in f:
                key, _, value = line.partition("=")
                if key == "JAVA_VERSION":
                    return value.strip().strip('"')
    except OSError:
        pass
    return ""


def _version(pid: int, library: str) -> str:
    # HOME/lib/server/libjvm.so, seen through the process's own root: it may live in a container.
    home = os.path.dirname(os.path.dirname(os.path.dirname(library)))
    return version_of(f"/proc/{pid}/root{home}")


def _options(pid: int) -> tuple[str, ...]:
    words: list[str] = []
    for name in ("cmdline", "environ"):
        parts = words_of(pid, name)
        if name == "environ":
            variables = (part.partition("=") for part in parts)
            parts = [value for key, _, value in variables if key.endswith("_OPTIONS")]
            parts = [word for value in parts for word in value.split()]
        words += [part for part in parts if part.startswith("-X")]
    return tuple(words)
