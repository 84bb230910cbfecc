"""What was hot in the whole session, as its recorder knew it while it ran.

A flight recorder has forgotten all but the last seconds; this it has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class HotRow:
    chain: list[dict[str, Any]]
    """Functions with lines, outermost first; the last one's line is where it begins."""
    own_ns: int
    total_ns: int
    activations: int

    def to_json(self) -> dict[str, Any]:
        return {
            "chain": self.chain,
            "self": self.own_ns,
            "total": self.total_ns,
            "activations": self.activations,
        }


@dataclass(frozen=True)
class HotCall:
    chain: list[dict[str, Any]]
    activations: int

    def to_json(self) -> dict[str, Any]:
        return {"chain": self.chain, "activations": self.activations}


@dataclass(frozen=True)
class HotContexts:
    """Contexts by their own time, and calls by how often samples found them newly made."""

    total_ns: int
    for_ns: int
    exact: bool
    known: float
    """The share of the samples that reported which of their frames are new activations."""
    memory: int
    bound: int
    rows: list[HotRow]
    edges: list[HotCall]

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": "ns",
            "total": self.total_ns,
            "for_ns": self.for_ns,
            "exact": self.exact,
            "known": self.known,
            "memory": self.memory,
            "bound": self.bound,
            "rows": [row.to_json() for row in self.rows],
            "edges": [edge.to_json() for edge in self.edges],
        }


NOTHING = HotContexts(0, 0, False, 0.0, 0, 0, [], [])


def hot(recording: Recording, *, top: int | None = None) -> HotContexts:
    """From what the recording says; one that says nothing, or nonsense, has none."""
    hot = recording.target.get("hot")
    if not isinstance(hot, dict):
        return NOTHING
    try:
        return _contexts(hot, top)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return NOTHING


def _contexts(hot: dict[str, Any], top: int | None) -> HotContexts:
    functions = [
        {"name": str(name), "file": str(file), "line": int(line), "runtime": str(runtime)}
        for name, file, line, runtime in hot["functions"]
    ]

    def chain(links: list[list[int]]) -> list[dict[str, Any]]:
        frames = [{**functions[_index(number)], "line": int(line)} for number, line in links]
        if frames:
            frames[-1]["line"] = functions[_index(links[-1][0])]["line"]
        return frames

    rows = [
        HotRow(
            chain(row["chain"]) or [functions[_index(row["function"])]],
            int(row["own_ns"]),
            int(row["total_ns"]),
            int(row["activations"]),
        )
        for row in hot["hot"]
    ]
    edges = [HotCall(chain(edge["chain"]), int(edge["activations"])) for edge in hot["hot_edges"]]
    return HotContexts(
        total_ns=int(hot["total_ns"]),
        for_ns=int(hot["for_ns"]),
        exact=hot["activations"] == "marked",
        known=float(hot.get("activations_known", hot["activations"] == "marked")),
        memory=int(hot["memory"]),
        bound=int(hot["bound"]),
        rows=rows[:top],
        edges=[edge for edge in edges if len(edge.chain) > 1][:top],
    )


def _index(number: int) -> int:
    if number < 0:
        raise IndexError(number)
    return number
