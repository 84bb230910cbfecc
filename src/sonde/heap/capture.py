"""Takes the heap of a running process, whatever its runtime."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.record.targets.hotspot import Jvm

if TYPE_CHECKING:
    from sonde.heap.snapshot import Snapshot
    from sonde.record.targets.process import RunningProcess


@dataclass(frozen=True)
class Captured:
    path: str
    objects: int
    size: int
    """Of the file."""
    pause_ns: int | None
    """How long the program was stopped; None: unknown."""


def capture(process: RunningProcess, path: str) -> Captured:
    """Writes the heap of a process into a file; a SondeError says why there is none."""
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(process.runtime, Jvm):
        from sonde.heap import jvm_capture

        taken = jvm_capture.snapshot_of(process, process.runtime, folder)
    else:
        from sonde.heap import cpython_capture

        taken = cpython_capture.snapshot_of(process, process.runtime, folder)
    with taken as snapshot:
        return stored(snapshot, path)


def stored(snapshot: Snapshot, path: str) -> Captured:
    from sonde.heap import snapshot_file

    size = snapshot_file.write(snapshot, path)
    return Captured(path, len(snapshot), size, snapshot.origin.pause_ns)
