"""Takes the heap of a running process, whatever its runtime."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.errors import SondeError
from sonde.record.targets.hotspot import Jvm

if TYPE_CHECKING:
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
    if isinstance(process.runtime, Jvm):
        from sonde.heap.jvm_capture import snapshot_of
    else:
        raise SondeError(
            f"process {process.pid} runs CPython; sonde takes heap snapshots of JVMs only"
        )
    from sonde.heap import snapshot_file

    with snapshot_of(process, process.runtime, os.path.dirname(os.path.abspath(path))) as snapshot:
        size = snapshot_file.write(snapshot, path)
        return Captured(path, len(snapshot), size, snapshot.origin.pause_ns)
