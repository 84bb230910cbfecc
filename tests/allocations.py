"""Sampled objects made by hand, in recordings made by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sonde.recording.tables import Objects, Recording, Types
from synthetic import MS, Maker


@dataclass(frozen=True)
class Allocation:
    ms: float
    chain: str | None
    type: str = "Row"
    size: int = 100
    freed: float | None = None
    """Milliseconds; None: never."""
    thread: str = "main"
    process: int = 0
    kind: int = 0


def recording_of(
    allocations: list[Allocation],
    *,
    made: Maker | None = None,
    every: int = 1000,
    followed: bool = True,
) -> Recording:
    made = made or Maker()
    types = list(dict.fromkeys(allocation.type for allocation in allocations))
    rows = [
        (
            made.thread(a.thread, process=a.process),
            round(a.ms * MS),
            made.context(a.chain),
            types.index(a.type),
            a.size,
            0 if a.freed is None else round(a.freed * MS),
            a.kind,
        )
        for a in allocations
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
    count = len(rows)
    table = Objects(
        columns[0].astype(np.uint32), columns[1], columns[2].astype(np.int32),
        columns[3].astype(np.int32), columns[4], np.full(count, every),
        kind=columns[6].astype(np.uint8),
        id=(np.arange(1, count + 1) * followed).astype(np.uint64),
        died=columns[5],
    )  # fmt: skip
    return replace(made.recording(), objects=table, types=Types(types, ["cpython"] * len(types)))
