"""How did the own time of each function come and go?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, chosen

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class History:
    """Nanoseconds of own time by function, in parts of equal length, the oldest first."""

    start_ns: int
    step_ns: int
    own_ns: dict[Function, list[int]]

    def to_json(self) -> dict[str, Any]:
        return {
            "start_ns": self.start_ns,
            "step_ns": self.step_ns,
            "rows": [{**f.to_json(), "self": parts} for f, parts in self.own_ns.items()],
        }


def history(recording: Recording, selection: Selection, parts: int) -> History:
    """The own time that `flat` has, split by when it was; the selection bounds its time."""
    start, end = selection.start_ns or 0, selection.end_ns
    if end is None:
        end = int(recording.target["duration_ns"])
    step = max(1, -(-(end - start) // parts))
    rows, weight = chosen(recording, selection)
    samples = recording.samples
    functions, identity = identities(recording)
    # A sample without a context is of the function that stands for such, which comes last.
    place = np.append(recording.contexts.function, -1)[samples.context[rows]]
    function = identity[place]
    part = np.clip((samples.time[rows] - start) // step, 0, parts - 1)
    split = np.zeros((len(functions), parts), dtype=np.int64)
    np.add.at(split, (function, part), weight)
    seen = np.flatnonzero(split.any(axis=1)).tolist()
    return History(start, step, {functions[i]: split[i].tolist() for i in seen})
