"""What to do about the calls of a program: which to inline, to guard, to hoist or to batch.

For an optimiser, or for a person who rewrites a hot loop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sonde.model.calls.inlining import DOMINATES, size_threshold
from sonde.row_values import BUILT_IN
from sonde.views.calls.loops import Loops
from sonde.views.selecting.formatting import count, percent
from sonde.views.selecting.profile import Function
from sonde.views.selecting.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.views.calls.call_edge import CallEdge

# Below this share of all calls nothing is worth a word.
LEAST = 0.01
# Calls from a site each time its function is called, from which on it is taken for a loop.
OFTEN = 3.0
# Times that the upper end of an interval may be the lower one.
WIDEST = 10.0
MAX_CALLS = 20
"""Sites named, of each kind."""

Site = tuple[Function, int, int]
Shape = Literal["single", "dominated", "spread"]
Remedy = Literal["hoist", "batch"]


@dataclass(frozen=True)
class Target:
    """One of the functions that a site calls."""

    callee: Function
    share: float
    """Of the site's calls."""
    weight: float
    size: int | None
    """Instructions; None: not known, or not written in Python."""
    threshold: int
    """Instructions that a function may have to be inlined at a site as hot as this."""

    @property
    def candidate(self) -> bool:
        return self.share >= DOMINATES and self.size is not None and self.size <= self.threshold

    def to_json(self) -> dict[str, Any]:
        return {
            "callee": self.callee.to_json(),
            "share": self.share,
            "weight": self.weight,
            "size": self.size,
            "threshold": self.threshold,
            "candidate": self.candidate,
        }


@dataclass(frozen=True)
class CallSite:
    """A call in a function, and what is called there."""

    caller: Function
    line: int
    instruction: int
    """Distinguishes the calls of one line; 0: not known."""
    weight: float
    count: int
    targets: list[Target]

    @property
    def shape(self) -> Shape:
        """One target; one that is worth a guard; or none that is."""
        if len(self.targets) == 1:
            return "single"
        return "dominated" if self.targets[0].share >= DOMINATES else "spread"

    @property
    def said(self) -> str:
        """Of a site whose first target is a candidate."""
        first = self.targets[0]
        others = len(self.targets) - 1
        how = (
            f"in {percent(first.share)} of cases, and {count(others, 'other')}: inline with a guard"
            if others
            else "only"
        )
        return (
            f"calls {first.callee.name} {how}; {first.size:,} instructions, limit "
            f"{first.threshold:,} for a call site of this weight"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "caller": self.caller.to_json(),
            "site_line": self.line,
            "instruction": self.instruction,
            "weight": self.weight,
            "count": self.count,
            "shape": self.shape,
            "targets": [target.to_json() for target in self.targets],
        }


@dataclass(frozen=True)
class LoopCall:
    """A call inside a loop that could be done less often."""

    caller: Function
    line: int
    callee: Function
    weight: float
    per_entry: float | None
    """Calls each time the caller is called; None: the caller was hardly seen to be called."""
    per_entry_interval: tuple[float, float] | None
    """The 95 % confidence interval of that."""
    remedy: Remedy
    because: str

    @property
    def said(self) -> str:
        often = ""
        if self.per_entry_interval is not None:
            low, high = self.per_entry_interval
            often = f", {low:,.0f} to {high:,.0f} times per call of {self.caller.name}"
        return f"{self.remedy} the call of {self.callee.name}{often}: {self.because}"

    def to_json(self) -> dict[str, Any]:
        return {
            "caller": self.caller.to_json(),
            "site_line": self.line,
            "callee": self.callee.to_json(),
            "weight": self.weight,
            "per_entry": self.per_entry,
            "per_entry_interval": self.per_entry_interval and list(self.per_entry_interval),
            "remedy": self.remedy,
            "because": self.because,
        }


@dataclass(frozen=True)
class Advice:
    """Heaviest first."""

    sites: list[CallSite]
    loops: list[LoopCall]

    @property
    def inlined(self) -> list[CallSite]:
        """Sites where the function that is called is worth having in the caller."""
        return [site for site in self.sites if site.targets[0].candidate]

    def to_json(self) -> dict[str, Any]:
        return {
            "sites": [site.to_json() for site in self.sites],
            "loops": [call.to_json() for call in self.loops],
        }


def advise(edges: Sequence[CallEdge], sizes: dict[Function, int], recorded: float | None) -> Advice:
    """`edges` are all, by site, heaviest first; `recorded` is when, for the source of then."""
    sites: dict[Site, list[CallEdge]] = {}
    entries: dict[Function, _Entries] = {}
    for edge in edges:
        entries.setdefault(edge.callee, _Entries()).add(edge)
        # C code has no lines to be changed.
        if edge.caller is not None and edge.caller.file != BUILT_IN and edge.site_line:
            site = (edge.caller, edge.site_line, edge.instruction)
            sites.setdefault(site, []).append(edge)
    hot = [_site(site, its, sizes) for site, its in sites.items()]
    hot = sorted((site for site in hot if site.weight >= LEAST), key=lambda site: -site.weight)
    return Advice(hot[:MAX_CALLS], _loops(edges, entries, recorded)[:MAX_CALLS])


def _site(site: Site, edges: list[CallEdge], sizes: dict[Function, int]) -> CallSite:
    weight = sum(edge.weight for edge in edges)
    targets = [
        Target(
            edge.callee,
            edge.weight / weight if weight else 0.0,
            edge.weight,
            sizes.get(edge.callee),
            size_threshold(edge.weight),
        )
        for edge in sorted(edges, key=lambda edge: -edge.weight)
    ]
    return CallSite(*site, weight, sum(edge.count for edge in edges), targets)


@dataclass
class _Entries:
    """Calls of one function, from wherever."""

    weight: float = 0.0
    count: int = 0
    variance: float = 0.0

    def add(self, edge: CallEdge) -> None:
        self.weight += edge.weight
        self.count += edge.count
        self.variance += edge.error**2

    @property
    def relative_error(self) -> float:
        """Not less than that of so many independent events."""
        return max(math.sqrt(self.variance) / self.weight, 1 / math.sqrt(self.count))


def _per_entry(edge: CallEdge, entered: _Entries) -> tuple[float, tuple[float, float]] | None:
    """Calls of an edge per call of its caller, with the 95 % confidence interval."""
    calls = _Entries()
    calls.add(edge)
    if entered.weight <= 0 or calls.weight <= 0:
        return None
    ratio = calls.weight / entered.weight
    error = math.hypot(calls.relative_error, entered.relative_error)
    factor = math.exp(2 * error)
    return ratio, (ratio / factor, ratio * factor)


def _loops(
    edges: Sequence[CallEdge], entries: dict[Function, _Entries], recorded: float | None
) -> list[LoopCall]:
    loops = Loops(Sources(recorded))
    found = []
    for edge in edges:
        caller = edge.caller
        if caller is None or caller.file == BUILT_IN or edge.weight < LEAST:
            continue
        ratio = _per_entry(edge, entries.get(caller, _Entries()))
        if ratio is not None and ratio[0] < OFTEN:
            continue
        # An interval that spans a decade says no more than the advice itself.
        if ratio is not None and ratio[1][1] > WIDEST * ratio[1][0]:
            ratio = None
        call = loops.call(caller.file, edge.site_line, edge.callee.name)
        if call is not None and not call.in_loop:
            continue
        hoist = call is not None and call.invariant
        if hoist:
            because = (
                "the loop changes neither the callee nor its arguments, so one call before the "
                "loop is enough if it has no side effects"
            )
        elif call is None:
            because = "it runs many times per call of its function"
        else:
            because = "one call could handle all items"
        found.append(
            LoopCall(
                caller, edge.site_line, edge.callee, edge.weight,
                ratio[0] if ratio else None, ratio[1] if ratio else None,
                "hoist" if hoist else "batch", because,
            )
        )  # fmt: skip
    return found
