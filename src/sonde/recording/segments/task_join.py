"""Tasks of several segments as one table: each segment describes those that it speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.recording.task_tables import Tasks

Ints = NDArray[np.int64]


class TaskJoin:
    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], tuple[int, str, int, int, int]] = {}

    def add(self, part: Tasks, start: int, process: Ints, function: Ints) -> None:
        """`process` and `function` show where those are by now."""
        columns = zip(
            process[part.process].tolist(),
            part.id.tolist(),
            part.kind.tolist(),
            part.name,
            function[part.function].tolist(),
            part.parent.tolist(),
            np.where(part.created_ns == -1, -1, part.created_ns + start).tolist(),
            strict=True,
        )
        for owner, number, *facts in columns:
            kind, name, of, parent, created = facts
            self._rows.setdefault((owner, number), (kind, name, of, parent, created))

    def table(self) -> Tasks:
        keys, rows = list(self._rows), list(self._rows.values())
        return Tasks(
            process=np.array([owner for owner, _ in keys], dtype=np.uint32),
            id=np.array([number for _, number in keys], dtype=np.uint64),
            kind=np.array([row[0] for row in rows], dtype=np.uint8),
            name=[row[1] for row in rows],
            function=np.array([row[2] for row in rows], dtype=np.int32),
            parent=np.array([row[3] for row in rows], dtype=np.uint64),
            created_ns=np.array([row[4] for row in rows], dtype=np.int64),
        )
