"""Which hosts are not like the others?

For every function its share of the running time is looked at over all hosts. A host stands out by
as much as one of its shares lies away from the middle one, measured by how far hosts usually do:
the median of the distances, which one wild host cannot move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.fleet.queries.contexts import functions_of, numbers
from sonde.fleet.queries.shares import shares

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery

MIN_COUNT = 3
"""Of fewer hosts none is unlike the others."""
NORMAL = 1.4826
"""Turns the median distance into a standard deviation, if distances are normal."""
FLOOR = 0.005
"""Half a percent of the time is within what sampling gives: no host stands out by less."""
WILD = 3.5


@dataclass(frozen=True)
class OutlierRow:
    unit: str
    own_ns: int
    overlap: float
    """How much of its running time goes where that of the middle host does, from 0 to 1."""
    score: float
    function: dict[str, Any] | None
    """The one that lies farthest away."""
    share: float
    median: float

    def to_json(self, by: str) -> dict[str, Any]:
        return {
            by: self.unit,
            "cpu_ns": self.own_ns,
            "overlap": self.overlap,
            "score": self.score,
            "outlier": self.score >= WILD,
            "function": self.function,
            "share": self.share,
            "median_share": self.median,
        }


@dataclass(frozen=True)
class Outliers:
    """The strangest first."""

    by: str
    rows: list[OutlierRow]

    def to_json(self) -> dict[str, Any]:
        return {"by": self.by, "rows": [row.to_json(self.by) for row in self.rows]}


def outliers(asked: StoreQuery, *, by: str = "host", top: int | None = None) -> Outliers:
    table = shares(asked, by).to_pyarrow()
    units, unit = np.unique(np.array(table["unit"].to_pylist(), dtype=object), return_inverse=True)
    functions = functions_of(asked)
    which = functions.numbers(numbers(table, "function"))
    called, place = np.unique(which, return_inverse=True)
    share = np.zeros((len(units), len(called)))
    np.add.at(share, (unit, place), np.asarray(table["share"].to_numpy(), dtype=np.float64))
    own = np.zeros(len(units), dtype=np.int64)
    np.add.at(own, unit, numbers(table, "ns"))
    if not len(units):
        return Outliers(by, [])

    middle = np.median(share, axis=0)
    away = np.abs(share - middle)
    usual = np.maximum(np.median(away, axis=0) * NORMAL, FLOOR)
    scores = away / usual if len(units) >= MIN_COUNT else np.zeros_like(away)
    overlap = np.minimum(share, middle / max(float(middle.sum()), 1e-300)).sum(axis=1)
    rows = []
    for i, name in enumerate(units.tolist()):
        worst = int(np.argmax(scores[i]))
        rows.append(
            OutlierRow(
                str(name),
                int(own[i]),
                min(float(overlap[i]), 1.0),
                float(scores[i, worst]),
                functions.all[int(called[worst])].to_json() if scores[i, worst] else None,
                float(share[i, worst]),
                float(middle[worst]),
            )
        )
    rows.sort(key=lambda row: (-row.score, row.unit))
    return Outliers(by, rows[:top])
