"""Which recordings does a store hold, and how good are they?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.fleet.labels import LABELS

if TYPE_CHECKING:
    from sonde.fleet.asked import Asked


@dataclass(frozen=True)
class Held:
    rows: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows}


@dataclass(frozen=True)
class Extent:
    """How much an answer stands on."""

    recordings: int
    hosts: int
    taken: int
    lost: int
    undecodable: int


def recordings(asked: Asked, *, top: int | None = None) -> Held:
    """The newest first."""
    rows = []
    table = asked.recordings
    # Not as a map, which not every engine gives back as one.
    told = table.mutate(names=table.labels.keys(), values=table.labels.values())
    for row in told.drop("labels", "pauses").to_pyarrow().to_pylist():
        labels = {label: row[label] for label in LABELS if row[label] is not None}
        rows.append(
            {
                "recording": f"{row['recording'] & (1 << 64) - 1:016x}",
                "labels": labels | dict(zip(row["names"], row["values"], strict=True)),
                "program": row["program"],
                "start_ns": row["base_ns"],
                "duration_ns": row["duration_ns"],
                **{name: row[name] for name in ("taken", "lost", "undecodable", "truncated")},
            }
        )
    rows.sort(key=lambda row: (-row["start_ns"], row["recording"]))
    return Held(rows[:top])


def extent(asked: Asked) -> Extent:
    table = asked.recordings
    row = (
        table.aggregate(
            recordings=table.count(),
            hosts=table.host.nunique(),
            taken=table.taken.sum(),
            lost=table.lost.sum(),
            undecodable=table.undecodable.sum(),
        )
        .to_pyarrow()
        .to_pylist()[0]
    )
    return Extent(**{name: value or 0 for name, value in row.items()})
