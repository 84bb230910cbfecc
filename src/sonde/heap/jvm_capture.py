"""The heap of a running JVM as a snapshot."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sonde.heap.hprof import read
from sonde.heap.snapshot import Origin, Snapshot
from sonde.record.targets.jvm_heap import dumped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.record.targets.hotspot import Jvm
    from sonde.record.targets.process import RunningProcess


@contextmanager
def snapshot_of(process: RunningProcess, jvm: Jvm, folder: str) -> Iterator[Snapshot]:
    """Of a process; what the JVM writes is in `folder`, if it can write there, and only as long as
    this is open."""
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    with dumped(process.pid, jvm, folder) as dump:
        yield replace(
            read(dump.path),
            origin=Origin(
                pid=process.pid,
                version=jvm.version,
                argv=process.argv,
                taken=taken,
                pause_ns=dump.pause_ns,
                walk_ns=dump.duration_ns,
            ),
        )
