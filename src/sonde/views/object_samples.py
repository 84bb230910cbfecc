"""How good are the samples of objects?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


def undercounted(recording: Recording, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which samples are of a type of which the runtime hides allocations."""
    table = recording.objects
    hidden = np.zeros(len(rows), dtype=bool)
    process = recording.threads.process[table.thread[rows]]
    for number, facts in enumerate(recording.processes):
        if not facts.undercounted:
            continue
        wanted = set(facts.undercounted)
        types = np.array([name in wanted for name in recording.types.name] + [False], dtype=bool)
        hidden |= (process == number) & types[table.type[rows]]
    return hidden


def object_counters(recording: Recording, cpu_ns: int) -> dict[str, Any]:
    """What the samples themselves say of their quality; nothing where the recording has no counts
    of them."""
    known = recording.quality
    if not isinstance(known.get("objects_taken"), int):
        return {}
    table = recording.objects
    rows = np.flatnonzero(table.time >= 0)  # not those of earlier segments
    hidden = rows[undercounted(recording, rows)]
    agent_ns = known.get("object_agent_ns")
    return {
        "objects_without_type": int((table.type[rows] < 0).sum()),
        "objects_not_followed": int((table.id[rows] == 0).sum()),
        "objects_at_least": len(hidden),
        "object_types_at_least": sorted(
            recording.types.name[number] for number in np.unique(table.type[hidden])
        ),
        "object_ends_lost": known.get("object_ends_lost") or 0,
        "object_cost": agent_ns / cpu_ns if isinstance(agent_ns, int) and cpu_ns else None,
    }
