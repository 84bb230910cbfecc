"""Which data are the events about: what kind of memory, which type of object, where in it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import SondeError, UsageError, did_you_mean
from sonde.recording.tables import MEMORY
from sonde.views.locks.contentions import chains_of
from sonde.views.selecting.selection import Selection, chosen
from sonde.views.selecting.weighting import counting, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

ASPECTS = ("memory", "type", "offset", "function", "context")
DEFAULT_BY = ("memory", "type")


@dataclass(frozen=True)
class DataRow:
    key: dict[str, Any]
    """By aspect; None: unknown."""
    count: int
    samples: int

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key, "count": self.count, "samples": self.samples}


@dataclass(frozen=True)
class Data:
    """Rows by count, descending; they add up to `total`, those left out included."""

    event: str
    by: tuple[str, ...]
    total: int
    named: int
    """Of how many the type of the object is known."""
    rows: list[DataRow]
    left: int

    def to_json(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "by": list(self.by),
            "total": self.total,
            "named": self.named,
            "rows": [row.to_json() for row in self.rows],
        }


def data(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: Sequence[str] = DEFAULT_BY,
    top: int | None = None,
) -> Data:
    selection = selection or Selection()
    if not by or (wrong := [aspect for aspect in by if aspect not in ASPECTS]):
        given = f"{wrong[0]!r}{did_you_mean(wrong[0], ASPECTS)}" if by else "nothing"
        raise UsageError(f"invalid --by {given}; valid values for data: {', '.join(ASPECTS)}")
    if len(recording.chained):
        raise SondeError(
            f"{recording.path} has chained stacks, and only one in 32 of their events has an "
            "address; record with --stacks whole"
        )
    event = selection.event or _with_data(recording)
    mine = rows_of(recording, event)
    picked, weight = chosen(counting(recording, event), selection.with_time("running"))
    table, rows = recording.event_samples, mine[picked]
    about = table.address[rows] != 0
    rows, weight = rows[about], weight[about]
    chains = chains_of(recording)
    values: dict[str, Ints] = {
        "memory": table.memory[rows].astype(np.int64),
        "type": table.type[rows].astype(np.int64),
        "offset": table.offset[rows].astype(np.int64),
    }
    if "function" in by or "context" in by:
        values["context"] = chains.node[table.context[rows]]
        values["function"] = np.append(chains.function, -1)[values["context"]]
    columns = np.column_stack([values[aspect] for aspect in by])
    keys, group = np.unique(columns, axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.bincount(group, weight, len(keys)).astype(np.int64)
    samples = np.bincount(group, minlength=len(keys))
    types = [*recording.types.name, None]

    def word(aspect: str, key: dict[str, int]) -> Any:
        value = key[aspect]
        if aspect == "memory":
            return MEMORY[value] or None
        if aspect == "type":
            return types[value]
        if aspect == "offset":
            return value if key.get("type", 0) >= 0 else None
        if value < 0:
            return None
        if aspect == "function":
            return chains.functions[value].to_json()
        return chains.to_json(value)

    found = []
    order = np.lexsort((np.arange(len(keys)), -counts))
    for i in order[:top].tolist():
        key = dict(zip(by, keys[i].tolist(), strict=True))
        found.append(
            DataRow({aspect: word(aspect, key) for aspect in by}, int(counts[i]), int(samples[i]))
        )
    return Data(
        event,
        tuple(by),
        int(weight.sum()),
        int(weight[table.type[rows] >= 0].sum()),
        found,
        len(order) - len(found),
    )


def _with_data(recording: Recording) -> str:
    """The first event that is about data."""
    events = recording.event_samples
    with_data = events.event[events.address != 0]
    if len(with_data):
        return recording.events.name[int(with_data.min())]
    if len(recording.events):
        raise UsageError(
            f"no event in {recording.path} has data addresses; record --what +event:page-faults"
        )
    raise UsageError(
        f"{recording.path} has no events; record them with: sonde run --what +event:page-faults …"
    )
