"""A JVM's own heap dump: where it can write one, and how long the program stopped for it.

The dump has all objects, garbage included. Only live ones would take a full collection first, and
the program would stop for that, too (measured on JDK 17 and 25).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import SondeError

from . import ptrace_inject
from .hotspot import Jvm
from .jvm_attach import RefusedError, command
from .jvm_counters import counters
from .process import owner_of, status_of

_FOLDERS = ("/tmp", "/var/tmp")
_DONE = "Heap dump file created"
_COUNTERS = ("sun.rt.safepointTime", "sun.rt.safepointSyncTime")
_FREQUENCY = "sun.os.hrt.frequency"
# Of the process' memory: a dump has the objects alone, and no compressed references.
_SPACE = 1.5


@dataclass(frozen=True)
class HeapDump:
    path: str
    """As we see it."""
    pause_ns: int | None
    """How long all threads of the program were stopped meanwhile; None: the JVM does not count."""
    duration_ns: int


@contextmanager
def dumped(pid: int, jvm: Jvm, beside: str) -> Iterator[HeapDump]:
    """The heap of process `pid` in a file that is removed afterwards.

    It is written into the folder `beside` if the JVM can, else where the JVM keeps temporary files.
    """
    with _folder(pid, beside) as (ours, theirs):
        before = _stopped_ns(pid)
        start = time.monotonic_ns()
        name = "heap.hprof"
        try:
            status, text = command(pid, jvm, "dumpheap", f"{theirs}/{name}", "-all", timeout=None)
        except RefusedError as error:
            raise SondeError(f"cannot take the heap of process {pid}: {error}") from None
        duration = time.monotonic_ns() - start
        path = os.path.join(ours, name)
        if status != "0" or _DONE not in text or not os.path.exists(path):
            said = " ".join(text.split()) or (f"status {status}" if status else "it exited")
            raise SondeError(f"process {pid} did not write its heap: {said}")
        after = _stopped_ns(pid)
        pause = after - before if before is not None and after is not None else None
        yield HeapDump(path, pause, duration)


def _stopped_ns(pid: int) -> int | None:
    """How long safepoints have taken so far."""
    known = counters(pid)
    try:
        return sum(known[name] for name in _COUNTERS) * 10**9 // known[_FREQUENCY]
    except (KeyError, ZeroDivisionError):
        return None


@contextmanager
def _folder(pid: int, beside: str) -> Iterator[tuple[str, str]]:
    """A new folder of the process' user: as we see it, and as the process does."""
    needed = int(_resident(pid) * _SPACE)
    root = f"/proc/{pid}/root"
    places = [(beside, beside)] if ptrace_inject.sees(pid, beside) else []
    places += [(f"{root}{folder}", folder) for folder in _FOLDERS]
    reasons: list[str] = []
    made = None
    for ours, theirs in places:
        try:
            free = shutil.disk_usage(ours).free
            if free < needed:
                reasons.append(f"{theirs} has {free >> 20:,} MiB free of {needed >> 20:,} MiB")
                continue
            made = tempfile.mkdtemp(prefix=".sonde-heap-", dir=ours)
        except OSError as error:
            reasons.append(f"{theirs}: {(error.strerror or str(error)).lower()}")
            continue
        break
    if made is None:
        raise SondeError(
            f"process {pid} has no folder for a dump of its heap: {'; '.join(reasons)}"
        )
    try:
        uid, gid = owner_of(pid)
        if uid != os.geteuid():
            os.chown(made, uid, gid)
        yield made, os.path.join(theirs, Path(made).name)
    except PermissionError as error:
        raise SondeError(
            f"cannot give a folder to the user of process {pid}: {(error.strerror or '').lower()}"
        ) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _resident(pid: int) -> int:
    words = status_of(pid).get("VmRSS", "0").split()
    return int(words[0]) * 1024 if words and words[0].isdecimal() else 0
