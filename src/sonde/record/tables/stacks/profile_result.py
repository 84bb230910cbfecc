"""A profile of a program as it runs, for the program itself: what `session.hot()` answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sonde.model.trees.function_table import Function
from sonde.model.trees.partial_tree import Frame, Hot, HotEdge

__all__ = ["BY", "MAX_FUNCTIONS", "Frame", "Function", "Hot", "HotEdge", "Profile"]

BY = ("context", "function")
MAX_FUNCTIONS = 100


@dataclass(frozen=True)
class Profile:
    """What is known of all threads since the session began, or since it was last purged."""

    hot: list[Hot]
    """By their own time."""
    hot_edges: list[HotEdge]
    """By how often samples found them newly called."""
    total_ns: int
    """CPU time that samples stand for."""
    unknown_ns: int
    """Of this, what no stack is known of."""
    samples: int
    for_ns: int
    """Time on the clock."""
    exact: bool
    """Marks distinguished new activations from old ones; else activations are at least so many."""
    known: float
    """The share of the samples in which they did."""
    memory: int
    bound: int
    """Bytes that it takes, and may take."""
    contexts: int
    dropped: int
    """Contexts that are kept, and that were dropped to stay below the bound."""


def profile_of(answer: dict[str, Any]) -> Profile:
    """From what a recorder said."""
    functions = [Function(*reported) for reported in answer["functions"]]

    def chain(links: list[list[int]]) -> tuple[Frame, ...]:
        return tuple(Frame(functions[number], line) for number, line in links)

    hot = [
        Hot(
            functions[row["function"]],
            row["own_ns"],
            row["total_ns"],
            row["share"],
            row["samples"],
            row["activations"],
            chain(row["chain"]),
        )
        for row in answer["hot"]
    ]
    edges = [
        HotEdge(
            functions[row["caller"]],
            row["line"],
            functions[row["callee"]],
            row["activations"],
            row["own_ns"],
            chain(row["chain"]),
        )
        for row in answer["hot_edges"]
    ]
    counts = (
        "total_ns",
        "unknown_ns",
        "samples",
        "for_ns",
        "memory",
        "bound",
        "contexts",
        "dropped",
    )
    return Profile(
        hot=hot,
        hot_edges=edges,
        exact=answer["activations"] == "marked",
        known=answer["activations_known"],
        **{name: answer[name] for name in counts},
    )
