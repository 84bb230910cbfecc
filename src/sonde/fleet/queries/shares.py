"""Each function's share of the running time, process by process or host by host.

Shares, not times: processes are recorded for different lengths and under different loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.fleet.store.labels import label_in
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery


def own_times(asked: StoreQuery, unit: str) -> Any:
    """Own running time by `unit` (process, or a label) and function, as an expression."""
    samples = asked.samples
    samples = samples.filter(samples.state == RUNNING)
    # First by thread and context, which is a small table; only that is joined.
    spent = samples.group_by("thread", "context").aggregate(ns=samples.ns.sum())
    placed = spent.join(asked.contexts.select("context", "function"), "context").join(
        asked.threads.select("thread", "process", "recording"), "thread"
    )
    if unit != "process":
        of = asked.recordings
        placed = placed.join(of.select("recording", unit=label_in(of, unit)), "recording")
    else:
        placed = placed.mutate(unit=placed.process)
    placed = placed.filter(placed.unit.notnull())
    return placed.group_by("unit", "function").aggregate(ns=placed.ns.sum())


def shares(asked: StoreQuery, unit: str) -> Any:
    """The same with the unit's whole time and the function's share of it."""
    own = own_times(asked, unit)
    whole = own.group_by("unit").aggregate(whole=own.ns.sum())
    joined = own.join(whole, "unit")
    joined = joined.filter(joined.whole > 0)
    return joined.mutate(share=joined.ns / joined.whole.cast("float64"))
