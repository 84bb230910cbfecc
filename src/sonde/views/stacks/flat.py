"""Which functions does the time go to, whoever calls them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import sums
from sonde.views.selecting.own_code import with_vm_work
from sonde.views.selecting.profile import Function, Profile, profile

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(slots=True)
class FlatRow:
    """A function; `samples` are those that ended in it, `total_ns` counts recursion once."""

    function: Function
    self_ns: int
    total_ns: int
    samples: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.function.name,
            "file": self.function.file,
            "line": self.function.line,
            "self": self.self_ns,
            "total": self.total_ns,
            "samples": self.samples,
        }


@dataclass(frozen=True)
class Flat:
    """Functions by own time, descending."""

    total_ns: int
    samples: int
    rows: list[FlatRow]
    unit: str = "ns"
    """Nanoseconds, or the name of the event that is counted instead."""

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "total": self.total_ns,
            "rows": [row.to_json() for row in self.rows],
        }


def flat(
    recording: Recording,
    selection: Selection | None = None,
    *,
    top: int | None = None,
    vm_frames: bool = False,
) -> Flat:
    """Own and total time of every function seen; `vm_frames` lists what the JVM does in detail."""
    found = profile(recording, selection, merge_lines=True)
    return flat_of(found if vm_frames else with_vm_work(found), top)


def flat_of(found: Profile, top: int | None = None) -> Flat:
    """The same of a profile with one node per function."""
    size = len(found.functions)
    own = sums(found.function, found.own, size)
    samples = sums(found.function, found.samples, size)
    outer = found.tree.outermost(found.function)
    total = sums(found.function[outer], found.tree.totals(found.own)[outer], size)

    seen = np.unique(found.function)
    order = seen[np.lexsort((seen, -total[seen], -own[seen]))][:top]
    rows = [
        FlatRow(found.functions[f], self_ns, total_ns, count)
        for f, self_ns, total_ns, count in zip(
            order.tolist(),
            own[order].tolist(),
            total[order].tolist(),
            samples[order].tolist(),
            strict=True,
        )
    ]
    return Flat(found.total, int(found.samples.sum()), rows, found.unit)
