"""The format of Valgrind's callgrind, which KCachegrind and callgrind_annotate read.

From the call flow if there is one: calls and costs of each edge are exact then. Otherwise from
samples, of which nobody knows how many calls they stand for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from sonde._version import version
from sonde.model.trees.context_tree import ContextTree, sums
from sonde.views.flow.flow_tree import flow_tree, metric_of
from sonde.views.selecting.profile import profile

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.selection import Selection

SUFFIX = ".callgrind"
TEXT = True

NOT_COUNTED = 0
"""As the number of calls: KCachegrind shows them as active."""
_EVENTS = {
    "cpu": ("CPU_ns", "CPU time in nanoseconds"),
    "wall": ("Wall_ns", "wall-clock time in nanoseconds"),
    "instructions": ("Bytecodes", "executed bytecode instructions"),
    "page-faults": ("Faults", "page faults"),
    "context-switches": ("Switches", "context switches"),
}
_TIMES = {
    "running": ("CPU_ns", "CPU time in nanoseconds"),
    "waiting": ("OffCPU_ns", "off-CPU time in nanoseconds"),
    "wall": ("Wall_ns", "wall-clock time in nanoseconds"),
}
_LINE_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\0": " "})


@dataclass(frozen=True)
class _Costs:
    """A calling context tree to be written: columns are by node."""

    event: tuple[str, str]
    source: str
    tree: ContextTree
    functions: list[Function]
    function: Ints
    line: Ints
    own: Ints
    calls: Ints


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    costs = _of_flow(recording, selection) if _is_flow(recording, selection) else None
    if costs is None:
        costs = _of_samples(recording, selection)
    name, long_name = costs.event
    total = int(costs.own.sum())
    command = " ".join(map(str, recording.target.get("argv") or []))
    lines = (
        "# callgrind format",
        "version: 1",
        f"creator: sonde {version()}",
        f"cmd: {_clean(command)}",
        f"desc: Source: {costs.source}",
        "positions: line",
        f"event: {name} : {long_name}",
        f"events: {name}",
        f"summary: {total}",
    )
    _write_lines(out, lines)
    _functions(costs, out)
    _write_lines(out, ("", f"totals: {total}"))


def _is_flow(recording: Recording, selection: Selection) -> bool:
    """Whether the call flow has what is selected: it has no times of its own."""
    whole = selection.start_ns is None and selection.end_ns is None and selection.span is None
    return bool(len(recording.flow)) and whole and selection.time == "running"


def _of_flow(recording: Recording, selection: Selection) -> _Costs:
    found = flow_tree(recording, selection)
    first = np.array([function.line for function in found.functions], dtype=np.int64)
    return _Costs(
        _EVENTS[metric_of(recording)],
        "call flow, calls are exact",
        found.tree,
        found.functions,
        found.function,
        first[found.function],
        found.base,
        found.calls,
    )


def _of_samples(recording: Recording, selection: Selection) -> _Costs:
    found = profile(recording, selection)
    return _Costs(
        _TIMES.get(selection.time, _TIMES["wall"]),
        "samples, calls are not counted",
        found.tree,
        found.functions,
        found.function,
        found.line,
        found.own,
        np.full(len(found.tree), NOT_COUNTED),
    )


def _functions(costs: _Costs, out: BinaryIO) -> None:
    """Each function with its self cost by line and its calls."""
    tree, size = costs.tree, len(costs.functions)
    if not len(tree):
        return
    lines = int(costs.line.max()) + 1
    places, of = np.unique(costs.function * lines + costs.line, return_inverse=True)
    own = sums(of, costs.own, len(places))
    below = np.flatnonzero(tree.parent >= 0)
    above = tree.parent[below]
    # The line of a call is that of the calling frame.
    edges, edge = np.unique(
        (costs.function[above] * lines + costs.line[above]) * size + costs.function[below],
        return_inverse=True,
    )
    # Recursion is in the cost of an edge once: where its outermost call is.
    key = np.arange(len(tree)) + len(edges)
    key[below] = edge
    outermost, total = tree.outermost(key), tree.totals(costs.own)
    calls = sums(edge, costs.calls[below], len(edges))
    inclusive = sums(edge, np.where(outermost, total, 0)[below], len(edges))
    callers = edges // size
    names = _Names(costs.functions)
    rows = np.unique(np.concatenate([places, callers]))
    current = -1
    for place in rows.tolist():
        function, line = divmod(place, lines)
        if function != current:
            current = function
            caller = costs.functions[function]
            _write_lines(out, ("", f"fl={names.file(caller)}", f"fn={names.function(caller)}"))
        at = int(np.searchsorted(places, place))
        text = [f"{line} {own[at]}"] if own[at] else []
        first, last = np.searchsorted(callers, [place, place + 1]).tolist()
        for i in range(first, last):
            callee = costs.functions[int(edges[i]) % size]
            text += (
                f"cfi={names.file(callee)}",
                f"cfn={names.function(callee)}",
                f"calls={calls[i]} {callee.line}",
                f"{line} {inclusive[i]}",
            )
        _write_lines(out, text)


class _Names:
    """A name is written where it is first used, and is its number from then on."""

    def __init__(self, functions: list[Function]) -> None:
        self._bearers = Counter((one.name, one.file) for one in functions)
        self._files: dict[str, int] = {}
        self._functions: dict[Function, int] = {}

    def file(self, function: Function) -> str:
        known = len(self._files)
        number = self._files.setdefault(function.file, known + 1)
        return f"({number})" if number <= known else f"({number}) {_clean(function.file) or '???'}"

    def function(self, function: Function) -> str:
        known = len(self._functions)
        number = self._functions.setdefault(function, known + 1)
        if number <= known:
            return f"({number})"
        name = _clean(function.name) or "???"
        # Readers take functions of one name and file for one.
        several = self._bearers[function.name, function.file] > 1
        return f"({number}) {name}{f':{function.line}' if several else ''}"


def _clean(text: str) -> str:
    return text.translate(_LINE_BREAKS).strip()


def _write_lines(out: BinaryIO, lines: list[str] | tuple[str, ...]) -> None:
    out.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
