"""The heap of a running CPython as a snapshot."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sonde.heap.cpython import read
from sonde.heap.snapshot import Origin, Snapshot
from sonde.record import heap_walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.record.targets.cpython import Runtime
    from sonde.record.targets.process import RunningProcess


@contextmanager
def snapshot_of(process: RunningProcess, runtime: Runtime, folder: str) -> Iterator[Snapshot]:
    """Of a process; what its agent writes is in `folder`, without a name."""
    with tempfile.TemporaryFile(dir=folder) as file:
        walked = heap_walk.walk(process, runtime, file)
        origin = Origin(
            pid=process.pid, version=runtime.version, argv=process.argv, taken=walked.taken,
            pause_ns=walked.pause_ns, walk_ns=walked.walk_ns,
        )  # fmt: skip
        yield read(file, f"process {process.pid}", origin)
