"""The call flow for the web UI: what each context of a thread took, and its calls as slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import SondeError
from sonde.views.flow.flow_slices import flow_slices
from sonde.views.flow.flow_tree import metric_of
from sonde.web.columns import changes, part, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sonde.recording.tables import Recording

MAX_SLICES = 3_000_000
"""A browser holds as many; the longest are kept."""
BEGIN_UNKNOWN, END_UNKNOWN = 1, 2


def flow_facts(recording: Recording) -> dict[str, Any] | None:
    """None: there is no call flow, or none whose numbers add up."""
    runs = recording.flow_runs
    if not len(recording.flow):
        return None
    try:
        metric = metric_of(recording)
    except SondeError:
        return None
    return {
        "metric": metric,
        "calibrated": bool(len(runs) and runs.calibrated.all()),
        "lostCalls": int(runs.lost_calls.sum()),
        "events": len(recording.flow_events),
        "lostEvents": int(runs.lost_events.sum()),
    }


def flow_part(recording: Recording, node_of: Callable[[NDArray[Any]], NDArray[np.int64]]) -> bytes:
    table = recording.flow
    rows = np.flatnonzero(table.context >= 0)
    slices = flow_slices(recording)
    if len(slices) > MAX_SLICES:
        length = slices.end - slices.start
        slices = slices.rows(np.sort(np.argpartition(length, -MAX_SLICES)[-MAX_SLICES:]))
    order = np.lexsort((slices.first, slices.start, slices.depth, slices.thread))
    slices = slices.rows(order)
    cut = np.where(slices.entry < 0, BEGIN_UNKNOWN, 0) + np.where(slices.exit < 0, END_UNKNOWN, 0)
    return part(
        unsigned(table.thread[rows]),
        unsigned(node_of(table.context[rows])),
        unsigned(table.calls[rows]),
        unsigned(table.resumptions[rows]),
        unsigned(table.exceptions[rows]),
        unsigned(table.measured[rows]),
        unsigned(table.overhead[rows]),
        unsigned(table.preexisting[rows]),
        changes(slices.thread),
        changes(slices.depth),
        changes(slices.start),
        unsigned(slices.end - slices.start),
        unsigned(node_of(slices.context)),
        unsigned(cut),
    )
