"""Which instructions were executed in a step trace: as a flow of calls, by line, function, loop."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.steps import Steps, decode
from sonde.row_values import BUILT_IN
from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

FLOW, LINE, FUNCTION, LOOP = WAYS = ("flow", "line", "function", "loop")
_OWN = "/sonde/_inside.py"
"""The file of sonde's own that enters and leaves spans."""


@dataclass(frozen=True)
class TraceReport:
    by: str
    instructions: int
    threads: int
    full: bool
    """It ended because its room was used."""
    ended_at: dict[str, Any] | None
    """Then: the function and line at which it did."""
    spans: int | None
    """Of spans: how many were traced."""
    trouble: str
    left: int
    """Rows that were left out."""
    rows: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Codes:
    """Code objects of a trace: what they are called, and their lines."""

    def __init__(self, recording: Recording, trace: int) -> None:
        table, lines, functions = recording.step_codes, recording.step_lines, recording.functions
        self._function: dict[int, Function] = {}
        self._lines: dict[int, tuple[Ints, Ints]] = {}
        for row in np.flatnonzero(table.trace == trace).tolist():
            code, function = int(table.code[row]), int(table.function[row])
            self._function[code] = (
                Function(
                    functions.name[function], functions.file[function],
                    int(functions.line[function]), functions.runtime[function],
                )
                if function >= 0
                else _UNKNOWN
            )  # fmt: skip
            mine = np.flatnonzero(lines.code == row)
            mine = mine[np.argsort(lines.index[mine], kind="stable")]
            self._lines[code] = (
                lines.index[mine].astype(np.int64),
                lines.line[mine].astype(np.int64),
            )

    def function(self, code: int) -> Function:
        return self._function.get(code, _UNKNOWN)

    def lines(self, code: int, indices: Ints) -> Ints:
        starts, lines = self._lines.get(code, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        if not len(starts):
            return np.zeros(len(indices), dtype=np.int64)
        return lines[np.maximum(np.searchsorted(starts, indices, side="right") - 1, 0)]

    def line(self, code: int, index: int) -> int:
        return int(self.lines(code, np.array([index]))[0])

    def own(self) -> list[int]:
        return [code for code, f in self._function.items() if f.file.endswith(_OWN)]


_UNKNOWN = Function("[code that was never described]", BUILT_IN, 0, "cpython")


def trace(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: str = FLOW,
    top: int | None = None,
) -> TraceReport:
    """Of all processes together; the flow is that of one thread after the other."""
    if by not in WAYS:
        raise UsageError(invalid("--by", by, WAYS, "values"))
    rows: list[dict[str, Any]] = []
    instructions = threads = 0
    ended_at = None
    table = recording.step_traces
    for number in range(len(table)):
        codes = _Codes(recording, number)
        together = Steps()
        for tid, words in _threads(recording, number, selection):
            threads += 1
            before = len(together.runs)
            decode(words, together, codes.own(), runs=by == FLOW or bool(table.full[number]))
            if by == FLOW:
                rows += _flow(together, codes, tid, before)
            if table.full[number] and len(together.runs) > before:
                last = together.runs[-1]
                ended_at = {
                    **codes.function(last.code).to_json(),
                    "line": codes.line(last.code, last.last),
                    "tid": tid,
                }
        instructions += together.instructions
        if by != FLOW:
            rows += _BY[by](together, codes)
    if by != FLOW:
        rows.sort(key=lambda row: -row["instructions"])
    picked = rows if top is None else rows[:top]
    return TraceReport(
        by=by,
        instructions=instructions,
        threads=threads,
        full=bool(table.full.any()),
        ended_at=ended_at,
        spans=int(table.spans.sum()) if any(table.span) else None,
        trouble=next((text for text in table.trouble if text), ""),
        left=len(rows) - len(picked),
        rows=picked,
    )


def _threads(
    recording: Recording, trace: int, selection: Selection | None
) -> Iterator[tuple[int, Any]]:
    table = recording.step_words
    mine = table.trace == trace
    wanted = None
    if selection is not None and (selection.thread is not None or selection.process is not None):
        from sonde.views.selecting.selection import threads_of

        wanted = set(recording.threads.tid[threads_of(recording, selection)].tolist())
    for tid in np.unique(table.tid[mine]).tolist():
        if wanted is not None and tid not in wanted:
            continue
        rows = np.flatnonzero(mine & (table.tid == tid))
        rows = rows[np.argsort(table.number[rows], kind="stable")]
        text = "".join(table.words[row] for row in rows.tolist())
        raw = text.encode("latin-1", errors="replace")
        yield tid, np.frombuffer(raw[: len(raw) & ~1], dtype="<u2")


def _flow(steps: Steps, codes: _Codes, tid: int, since: int) -> Iterator[dict[str, Any]]:
    for run in steps.runs[since:]:
        function = codes.function(run.code)
        yield {
            "tid": tid,
            "depth": run.depth,
            "instructions": run.count,
            "end": run.end,
            "name": function.name,
            "file": function.file,
            "first_line": codes.line(run.code, run.first),
            "line": codes.line(run.code, run.last),
        }


def _by_line(steps: Steps, codes: _Codes) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for code, counts in steps.counts.items():
        function = codes.function(code)
        executed = np.flatnonzero(counts)
        for index, line in zip(executed, codes.lines(code, executed).tolist(), strict=True):
            row = found.setdefault(
                (function.file, line),
                {"file": function.file, "line": line, "name": function.name, "instructions": 0},
            )
            row["instructions"] += int(counts[index])
    return list(found.values())


def _by_function(steps: Steps, codes: _Codes) -> list[dict[str, Any]]:
    found: dict[Function, dict[str, Any]] = {}
    for code, counts in steps.counts.items():
        function = codes.function(code)
        row = found.setdefault(
            function,
            {**function.to_json(), "calls": 0, "instructions": 0, "total": 0},
        )
        row["calls"] += steps.calls.get(code, 0)
        row["instructions"] += int(counts.sum())
        row["total"] += steps.totals.get(code, 0)
    return list(found.values())


def _by_loop(steps: Steps, codes: _Codes) -> list[dict[str, Any]]:
    """A loop is what lies between the target of jumps backward and the last of them."""
    heads: dict[tuple[int, int], tuple[int, int]] = {}
    for (code, source, target), number in steps.jumps.items():
        jumps, last = heads.get((code, target), (0, 0))
        heads[code, target] = jumps + number, max(last, source)
    rows = []
    for (code, head), (jumps, last) in heads.items():
        counts = steps.counts[code]
        function = codes.function(code)
        entries = max(int(counts[head]) - jumps, 0)
        rows.append(
            {
                **function.to_json(),
                "line": codes.line(code, head),
                "last_line": codes.line(code, last),
                "entries": entries,
                "iterations": jumps,
                "instructions": int(counts[head : last + 1].sum()),
            }
        )
    return rows


_BY = {LINE: _by_line, FUNCTION: _by_function, LOOP: _by_loop}
