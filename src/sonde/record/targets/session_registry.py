"""Which recordings are under way on this machine, and of which processes."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
from dataclasses import dataclass

from ..system.procfs import stat_of

FILE = "session.json"
CONTROL = "control"
PREFIX = "sonde-"
# The module that a recorder process runs, by which its command line is known.
RECORDER = "sonde.record.recorder.main"


@dataclass(frozen=True)
class RunningSession:
    """A recorder at work."""

    path: str
    """Of the recording."""
    pids: list[int]
    what: list[str]
    recorder: int
    control: str
    """Path of the socket at which it takes orders."""


def make_home() -> str:
    """A folder that nobody else can enter."""
    return tempfile.mkdtemp(prefix=PREFIX, dir=folder_for_sockets())


def folder_for_sockets() -> str | None:
    """Where sessions make their folders; each is its owner's alone, wherever it is."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    # A socket's path has 107 bytes at most.
    return folder if folder and os.access(folder, os.W_OK) and len(folder) < 60 else None


def announce(folder: str, path: str, pids: list[int], what: list[str]) -> None:
    own = os.getpid()
    facts = {"path": path, "pids": pids, "what": what, "recorder": own, "born": _born(own)}
    text = os.path.join(folder, FILE)
    with contextlib.suppress(OSError):  # only for finding it; the recording goes on without
        with open(text + ".new", "w") as f:
            json.dump(facts, f)
        os.replace(text + ".new", text)


def find(pid: int) -> RunningSession | None:
    """The session that records process `pid`, as far as we may see it."""
    for session in running():
        if pid in session.pids:
            return session
    return None


def running() -> list[RunningSession]:
    folders = {folder_for_sockets() or tempfile.gettempdir(), tempfile.gettempdir()}
    found: list[RunningSession] = []
    for folder in sorted(folders):
        for text in glob.glob(os.path.join(glob.escape(folder), f"{PREFIX}*", FILE)):
            try:
                with open(text) as f:
                    facts = json.load(f)
                session = RunningSession(
                    facts["path"],
                    facts["pids"],
                    facts["what"],
                    facts["recorder"],
                    os.path.join(os.path.dirname(text), CONTROL),
                )
                born = facts["born"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            # A recorder that was killed leaves its file, and its number may be another's by now.
            if born and born == _born(session.recorder):
                found.append(session)
    return found


def _born(pid: int) -> int:
    """When a process was started, in clock ticks since boot; 0 if there is none, or its remains."""
    stat = stat_of(pid)
    # One that was killed together with its parent may stay a zombie forever.
    return stat.start_ticks if stat and not stat.has_ended else 0
