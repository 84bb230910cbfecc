"""Where were the objects of a snapshot allocated, as far as a recording of the process sampled it?

An object of CPython keeps its address, which the snapshot and the recording both have. Of what the
asked objects keep alive only some was sampled: each sample stands for as much as in other views.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.heap.graph import NO_OBJECT, UNREACHABLE
from sonde.views.objects.sampled import Ints, Sampled, margin, sampled
from sonde.views.objects.sites import Places
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from sonde.heap.graph import HeapGraph
    from sonde.heap.snapshot import Snapshot
    from sonde.recording.tables import Recording

SECOND = 1_000_000_000
UNCERTAIN_NS = 20_000_000
"""How far the time that a snapshot states may be off."""


@dataclass(frozen=True)
class AllocationRow:
    """Objects of one type, allocated in one call stack."""

    type: str
    chain: list[dict[str, Any]] | None
    """Outermost first."""
    sampled: int
    estimated_count: int
    estimated_bytes: int
    margin_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "context": self.chain,
            "sampled": self.sampled,
            "estimated_count": self.estimated_count,
            "estimated_bytes": self.estimated_bytes,
            "margin_bytes": self.margin_bytes,
        }


@dataclass(frozen=True)
class Allocations:
    """Rows by estimated bytes, descending."""

    recording: str
    sampled: int
    rows: list[AllocationRow]
    left: int
    """Rows that are not here."""

    def to_json(self) -> dict[str, Any]:
        return {
            "recording": self.recording,
            "sampled": self.sampled,
            "rows": [row.to_json() for row in self.rows],
        }


def allocations_of(
    graph: HeapGraph, members: Ints, recording: Recording, *, top: int = 5
) -> Allocations:
    """Of these objects, and of all that is kept alive by them alone."""
    snapshot = graph.snapshot
    found, number = _alive(snapshot, recording)
    kept = _kept_by(graph, members, number)
    found, number = found.only(kept), number[kept]
    places = Places(recording, found.row, "context")
    key = snapshot.type[number].astype(np.int64) * places.size + places.place + 1
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    groups = len(first)
    counts = np.bincount(group, minlength=groups)
    bytes_ = np.bincount(group, found.bytes, groups)
    objects = np.bincount(group, found.count, groups)
    variance = found.bytes_variance(group, groups)
    order = np.lexsort((first, -bytes_)).tolist()
    return Allocations(
        recording=recording.path,
        sampled=len(found),
        rows=[
            AllocationRow(
                type=snapshot.type_of(int(number[first[i]])).name,
                chain=places.chain(int(first[i])),
                sampled=int(counts[i]),
                estimated_count=round(float(objects[i])),
                estimated_bytes=round(float(bytes_[i])),
                margin_bytes=margin(float(variance[i])),
            )
            for i in order[:top]
        ],
        left=max(groups - top, 0),
    )


def check_same_process(snapshot: Snapshot, recording: Recording) -> None:
    """Raises UsageError if the recording cannot have the allocations of the snapshot's objects."""
    _time_of(snapshot, recording)


def _alive(snapshot: Snapshot, recording: Recording) -> tuple[Sampled, Ints]:
    """Samples of objects that were alive when the snapshot was taken, and their numbers in it."""
    first, last = _time_of(snapshot, recording)
    found = sampled(recording, Selection(process=snapshot.origin.pid))
    address = recording.objects.address[found.row]
    # All of that time: of what came or went meanwhile it is not known whether it was there.
    found = found.only(
        found.followed & (address != 0) & (found.begin <= first) & (found.end > last)
    )
    address = recording.objects.address[found.row]
    number = np.minimum(np.searchsorted(snapshot.id, address), max(len(snapshot) - 1, 0))
    there = snapshot.id[number] == address
    found, number = found.only(there), number[there].astype(np.int64)
    same = [_is_same_type(snapshot, recording, found, number, i) for i in range(len(found))]
    chosen = np.array(same, dtype=bool)
    return found.only(chosen), number[chosen]


def _is_same_type(
    snapshot: Snapshot, recording: Recording, found: Sampled, number: Ints, i: int
) -> bool:
    """By name, as far as the allocation's type is known: without its module for some types.

    Not if the runtime keeps freed objects of the type for reuse: then another one may be there.
    """
    row = int(found.row[i])
    type_ = int(recording.objects.type[row])
    process = recording.processes[int(recording.threads.process[recording.objects.thread[row]])]
    if type_ < 0 or recording.types.name[type_] in process.undercounted:
        return False
    name, there = recording.types.name[type_], snapshot.type_of(int(number[i])).name
    return name == there or there.endswith(f".{name}") or name.endswith(f".{there}")


def _time_of(snapshot: Snapshot, recording: Recording) -> tuple[int, int]:
    """Between which times the snapshot was taken, on the recording's clock."""
    origin, path = snapshot.origin, snapshot.path
    if snapshot.runtime != "cpython":
        raise UsageError(
            f"{path} is a heap of Java, whose objects move; only snapshots of CPython can be "
            "compared with a recording"
        )
    if origin.pid is None or not origin.taken:
        raise UsageError(f"{path} does not state of which process it is, and when it was taken")
    if origin.pid not in [process.pid for process in recording.processes]:
        raise UsageError(
            f"{recording.path} has no process {origin.pid}, of which {path} is a snapshot"
        )
    if not recording.objects.address.any():
        raise UsageError(
            f"{recording.path} has no addresses of objects; record them with: sonde run --what "
            "+objects …"
        )
    started = recording.target.get("started")
    try:
        taken = datetime.fromisoformat(origin.taken).timestamp()
    except ValueError:
        taken = None
    if taken is None or not isinstance(started, int | float):
        raise UsageError(f"it is not known when {path} and {recording.path} were taken")
    at = round((taken - started) * SECOND)
    if not 0 <= at <= duration_ns(recording):
        raise UsageError(
            f"{path} was not taken while {recording.path} was recorded; addresses may have been "
            "used again since"
        )
    resolution = 0 if "." in origin.taken else SECOND
    return at - UNCERTAIN_NS, at + resolution + UNCERTAIN_NS


def _kept_by(graph: HeapGraph, members: Ints, number: Ints) -> np.ndarray[Any, Any]:
    """Which of some objects are members, or are kept alive by one of them alone."""
    asked = set(members.tolist())
    dominator = graph.dominators.dominator
    kept = np.zeros(len(number), dtype=bool)
    known: dict[int, bool] = {}
    for i, start in enumerate(number.tolist()):
        way, at = [], start
        while at not in known and at not in asked and at < min(NO_OBJECT, UNREACHABLE):
            way.append(at)
            at = int(dominator[at])
        inside = known.get(at, at in asked)
        for one in way:
            known[one] = inside
        kept[i] = inside
    return kept
