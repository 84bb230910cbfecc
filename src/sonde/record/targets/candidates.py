"""Other processes of this machine that could be recorded."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..system import native_libraries
from ..system.procfs import words_of
from . import cpython
from .process import owner_of
from .session_registry import RECORDER


class Candidate(NamedTuple):
    pid: int
    version: str
    command: str


def candidates() -> list[Candidate]:
    """The CPython processes of this user (of everybody, for root), by process id."""
    own, found = os.geteuid(), []
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        pid = int(name)
        if own and owner_of(pid)[0] != own:
            continue
        try:
            seen = cpython.find(pid)
        except (OSError, ValueError):  # exited meanwhile, or not ours to look into
            continue
        if seen is None or seen.free_threaded or seen.version not in native_libraries.available():
            continue
        argv = words_of(pid)
        # Recorders end with their session.
        if not any(RECORDER in word for word in argv):
            found.append(Candidate(pid, seen.version, command_of(argv)))
    return sorted(found)


def command_of(argv: list[str]) -> str:
    """A command line as a list has room for it: where the interpreter lies says little."""
    return " ".join([os.path.basename(argv[0]), *argv[1:]]) if argv else "?"
