"""Which recordings does a store hold, and how good are they?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.fleet.store.labels import LABELS, label_in

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery


@dataclass(frozen=True)
class Inventory:
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


def recordings(asked: StoreQuery, *, top: int | None = None) -> Inventory:
    """The newest first."""
    rows = []
    table = asked.recordings
    # Not as a map, which not every engine gives back as one.
    listed = table.mutate(names=table.labels.keys(), values=table.labels.values())
    for row in listed.drop("labels", "pauses").to_pyarrow().to_pylist():
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
    return Inventory(rows[:top])


@dataclass(frozen=True)
class Values:
    """Of one label: what recordings have there, those of most of them first."""

    label: str
    counts: list[tuple[str | None, int]]
    """None: how many do not have the label."""
    more: int
    """How many values were left out."""

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "values": self.counts, "more": self.more}


MAX_VALUES = 5000
MAX_LABELS = 20


def values(asked: StoreQuery) -> list[Values]:
    """Of every label that any recording has; of your own ones by name."""
    table = asked.recordings
    own = table.select(name=table.labels.keys().unnest()).distinct().to_pyarrow()
    found = []
    for label in [*LABELS, *sorted(own["name"].to_pylist())[:MAX_LABELS]]:
        one = table.select(value=label_in(table, label))
        rows = one.group_by("value").aggregate(count=one.count()).to_pyarrow().to_pylist()
        if all(row["value"] is None for row in rows):
            continue
        rows.sort(key=lambda row: (-row["count"], row["value"] or ""))
        counts = [(row["value"], row["count"]) for row in rows]
        found.append(Values(label, counts[:MAX_VALUES], max(len(counts) - MAX_VALUES, 0)))
    return found


def extent(asked: StoreQuery) -> Extent:
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
