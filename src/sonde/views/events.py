"""Which functions caused how many events, and how many of one for each of another?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.errors import UsageError
from sonde.model.trees.context_tree import sums
from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, chosen
from sonde.views.selecting.weighting import counting, rows_of

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

CPU = "cpu"
"""In a ratio: seconds of CPU time."""


class Ratio(NamedTuple):
    of: str
    per: str

    @property
    def name(self) -> str:
        return f"{self.of}/{self.per}"


# What people divide events by, where both were recorded; anything else by the CPU time.
USUAL = (Ratio("cycles", "instructions"),)


@dataclass(frozen=True)
class EventRow:
    """One kind of event."""

    name: str
    period: int
    count: int
    """How many the samples stand for."""
    samples: int
    counted: int | None
    """How many the kernel counted in all threads, the agent's own work included; None: unknown."""
    why_not: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "period": self.period,
            "count": self.count,
            "samples": self.samples,
            "counted": self.counted,
            "why_not": self.why_not,
        }


@dataclass(frozen=True)
class FunctionRow:
    """A function and what it caused itself."""

    function: Function
    counts: dict[str, int]
    cpu_ns: int
    ratios: dict[str, float | None]
    """None: there is nothing to divide by."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.function.to_json(),
            "counts": self.counts,
            "cpu_ns": self.cpu_ns,
            "ratios": self.ratios,
        }


@dataclass(frozen=True)
class Events:
    """Functions by the first event, descending."""

    events: list[EventRow]
    cpu_ns: int
    ratios: dict[str, float | None]
    """Of everything together."""
    rows: list[FunctionRow]

    def to_json(self) -> dict[str, Any]:
        return {
            "events": [event.to_json() for event in self.events],
            "cpu_ns": self.cpu_ns,
            "ratios": self.ratios,
            "rows": [row.to_json() for row in self.rows],
        }


def events(
    recording: Recording,
    selection: Selection | None = None,
    *,
    ratio: str | None = None,
    top: int | None = None,
) -> Events:
    selection = selection or Selection()
    names = list(dict.fromkeys(recording.events.name))
    asked = _ratios(recording, names, ratio)
    first = asked[0].of if ratio is not None else (names[0] if names else CPU)
    functions, cpu = _own(recording, selection)
    counts = {name: _own(counting(recording, name), selection)[1] for name in names}
    by = counts.get(first, cpu)
    seen = np.flatnonzero(sum(counts.values(), np.zeros_like(cpu)) + cpu)
    order = seen[np.lexsort((seen, -cpu[seen], -by[seen]))][:top]
    totals = {name: int(own.sum()) for name, own in counts.items()}
    rows = []
    for f in order.tolist():
        own = {name: int(column[f]) for name, column in counts.items()}
        time = int(cpu[f])
        rows.append(FunctionRow(functions[f], own, time, _divided(asked, own, time)))
    all_cpu = int(cpu.sum())
    return Events(
        [_event(recording, selection, name, totals[name]) for name in names],
        all_cpu,
        _divided(asked, totals, all_cpu),
        rows,
    )


def _ratios(recording: Recording, names: list[str], asked: str | None) -> list[Ratio]:
    if asked is None:
        usual = [ratio for ratio in USUAL if ratio.of in names and ratio.per in names]
        misses = [
            Ratio(name, "instructions")
            for name in names
            if name.endswith("misses") and "instructions" in names
        ]
        divided = {ratio.of for ratio in (*usual, *misses)}
        return [*usual, *misses, *(Ratio(name, CPU) for name in names if name not in divided)]
    of, slash, per = asked.partition("/")
    if not slash or not of or not per:
        raise UsageError(f"invalid --ratio {asked!r}; give two events as A/B, or A/{CPU}")
    for name in (of, per):
        if name != CPU:
            rows_of(recording, name)  # a usage error if there is no such event
    return [Ratio(of, per)]


def _divided(asked: list[Ratio], counts: dict[str, int], cpu_ns: int) -> dict[str, float | None]:
    known: dict[str, float] = {**counts, CPU: cpu_ns / 1e9}
    return {
        ratio.name: known[ratio.of] / known[ratio.per] if known[ratio.per] else None
        for ratio in asked
    }


def _own(recording: Recording, selection: Selection) -> tuple[list[Function], Ints]:
    """The distinct functions, and for each what its own samples weigh."""
    rows, weight = chosen(recording, selection.with_time("running"))
    functions, identity = identities(recording)
    of_context = np.append(recording.contexts.function, -1)
    function = identity[of_context[recording.samples.context[rows]]]
    return functions, sums(function, weight, len(functions))


def _event(recording: Recording, selection: Selection, name: str, count: int) -> EventRow:
    picked = chosen(counting(recording, name), selection.with_time("running")).rows
    entries = [entry for entry in recording.quality.get("events", ()) if entry.get("name") == name]
    periods = [
        int(period)
        for known, period in zip(
            recording.events.name, recording.events.period.tolist(), strict=True
        )
        if known == name
    ]
    return EventRow(
        name,
        periods[-1],
        count,
        len(picked),
        sum(int(entry["counted"]) for entry in entries) if entries else None,
        next((entry["why_not"] for entry in entries if entry.get("why_not")), None),
    )
