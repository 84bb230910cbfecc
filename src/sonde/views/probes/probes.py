"""Which values had an expression each time a line was reached?"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.row_values import (
    VALUE_BOOLEAN,
    VALUE_FLOAT,
    VALUE_INTEGER,
    VALUE_NONE,
    VALUE_TEXT,
)
from sonde.views.locks.contentions import chains_of
from sonde.views.probes.distribution import Floats, histogram, over_time
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.span_filter import within

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.probe_tables import ProbeValues
    from sonde.recording.tables import Recording

TOP_VALUES = 10
TOP_CONTEXTS = 10


@dataclass(frozen=True)
class ProbeRow:
    """One probe, of all processes."""

    probe: str
    file: str
    line: int
    expression: str
    every: int
    hits: int | None
    """How often the line was reached; None of a part of the recording, where that is unknown."""
    sampled: int
    lost: int | None
    failures: dict[str, int] | None
    """Why values could not be read, and how often."""
    places: int
    """Code objects that contain the line."""
    trouble: str
    """Why the probe does not work; "": it does."""
    types: dict[str, int]
    minimum: float | None
    mean: float | None
    maximum: float | None
    """Of numbers."""
    histogram: list[tuple[float, int]]
    """Of numbers: upper bounds, and how many values are in each group."""
    top_values: list[dict[str, Any]]
    """The most frequent values, each with its type and count."""
    over_time: list[dict[str, Any]]
    contexts: list[dict[str, Any]]
    """Call stacks, each with the count and the mean of numbers."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ProbeReport:
    rows: list[ProbeRow]

    def to_json(self) -> dict[str, Any]:
        return {"rows": [row.to_json() for row in self.rows]}


def probes(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> ProbeReport:
    """Probes in the order in which they were added."""
    selection = selection or Selection()
    table = recording.probes
    keys = list(zip(table.file, table.line.tolist(), table.expression, strict=True))
    same: dict[tuple[str, int, str], list[int]] = {}
    for row, key in enumerate(keys):
        same.setdefault(key, []).append(row)
    chosen = _chosen(recording, selection)
    found = [_row(recording, rows, chosen, selection) for rows in same.values()]
    return ProbeReport(found[:top])


def _chosen(recording: Recording, selection: Selection) -> Flags:
    values = recording.probe_values
    keep: Flags = threads_of(recording, selection)[values.thread]
    if selection.span is not None:
        keep &= within(recording, selection.span)[values.span]
    if selection.start_ns is not None:
        keep &= values.time >= selection.start_ns
    if selection.end_ns is not None:
        keep &= values.time < selection.end_ns
    return keep


def _row(recording: Recording, rows: list[int], chosen: Flags, selection: Selection) -> ProbeRow:
    table, values = recording.probes, recording.probe_values
    picked = np.flatnonzero(chosen & np.isin(values.probe, rows))
    numbers = _numbers(values, picked)
    finite = numbers[np.isfinite(numbers)]
    file, line, expression = (
        table.file[rows[0]],
        int(table.line[rows[0]]),
        table.expression[rows[0]],
    )
    every = int(table.every[rows[-1]])
    begin = selection.start_ns or 0
    end = selection.end_ns if selection.end_ns is not None else duration_ns(recording)
    whole = not selection.narrowed
    return ProbeRow(
        probe=f"{file}:{line} {expression}",
        file=file,
        line=line,
        expression=expression,
        every=every,
        hits=int(table.hits[rows].sum()) if whole else None,
        sampled=len(picked),
        lost=int(table.lost[rows].sum()) if whole else None,
        failures=_failures([table.failures[row] for row in rows]) if whole else None,
        places=int(table.places[rows].max()),
        trouble=next((table.trouble[row] for row in rows if table.trouble[row]), ""),
        types=_types(recording, values.type[picked]),
        minimum=float(finite.min()) if len(finite) else None,
        mean=float(finite.mean()) if len(finite) else None,
        maximum=float(finite.max()) if len(finite) else None,
        histogram=histogram(finite),
        top_values=_top_values(recording, picked),
        over_time=over_time(values.time[picked], numbers, begin, end),
        contexts=_contexts(recording, picked, numbers),
    )


def _numbers(values: ProbeValues, picked: Ints) -> Floats:
    """NaN for what is no number."""
    kind = values.kind[picked]
    found = np.full(len(picked), np.nan)
    whole = np.isin(kind, (VALUE_INTEGER, VALUE_BOOLEAN))
    found[whole] = values.number[picked][whole]
    real = kind == VALUE_FLOAT
    found[real] = values.real[picked][real]
    return found


def _failures(texts: list[list[str]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for text in (text for row in texts for text in row):
        number, _, why = text.partition("\t")
        if number.isdecimal():
            found[why] += int(number)
    return dict(found.most_common())


def _types(recording: Recording, types: NDArray[np.int32]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for type_, number in zip(*np.unique(types, return_counts=True), strict=True):
        found[recording.types.name[type_] if type_ >= 0 else ""] += int(number)
    return dict(found.most_common())


def _top_values(recording: Recording, picked: Ints) -> list[dict[str, Any]]:
    values = recording.probe_values
    found: Counter[tuple[str, Any]] = Counter()
    for row in picked.tolist():
        kind, type_ = int(values.kind[row]), int(values.type[row])
        name = recording.types.name[type_] if type_ >= 0 else ""
        if kind == VALUE_INTEGER:
            found[name, int(values.number[row])] += 1
        elif kind == VALUE_FLOAT:
            found[name, repr(float(values.real[row]))] += 1
        elif kind == VALUE_BOOLEAN:
            found[name, bool(values.number[row])] += 1
        elif kind == VALUE_TEXT:
            found[name, values.text[row]] += 1
        elif kind == VALUE_NONE:
            found[name, None] += 1
    return [
        {"type": type_, "value": float(value) if type_ == "float" and _is_plain(value) else value,
         "count": number}
        for (type_, value), number in found.most_common(TOP_VALUES)
    ]  # fmt: skip


def _is_plain(text: Any) -> bool:
    """JSON has no other numbers."""
    return text not in ("nan", "inf", "-inf")


def _contexts(recording: Recording, picked: Ints, numbers: Floats) -> list[dict[str, Any]]:
    chains = chains_of(recording)
    node = chains.node[recording.probe_values.context[picked]]
    places, counts = np.unique(node, return_counts=True)
    rows = []
    for i in np.argsort(-counts, kind="stable")[:TOP_CONTEXTS].tolist():
        mine = numbers[node == places[i]]
        mine = mine[np.isfinite(mine)]
        rows.append(
            {
                "chain": chains.to_json(int(places[i])),
                "count": int(counts[i]),
                "mean": float(mine.mean()) if len(mine) else None,
            }
        )
    return rows
