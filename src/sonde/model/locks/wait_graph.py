"""Who waits for whom at one moment: chains of waiting threads, and cycles of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Edge:
    """A thread waits for a lock; `owner` has it, None if that is not known."""

    waiter: int
    lock: int
    owner: int | None


@dataclass(frozen=True)
class WaitGraph:
    """Numbers are those of the edges."""

    chains: list[list[int]]
    """From a thread that nobody waits for to the one that all others of the chain wait for: who
    waits, then who waits of the owners, and so on. Longest first."""
    cycles: list[list[int]]
    """Each of these waits for the next, and the last for the first: none will ever go on."""


def wait_graph(edges: Sequence[Edge]) -> WaitGraph:
    """A thread waits for one lock at a time, so every thread has at most one edge."""
    of_thread = {edge.waiter: i for i, edge in enumerate(edges)}
    following = [None if edge.owner is None else of_thread.get(edge.owner) for edge in edges]
    cycles = _cycles(edges, following)
    stuck = {i for cycle in cycles for i in cycle}
    wanted = {i for i in following if i is not None}
    chains = []
    for begin in range(len(edges)):
        if begin in wanted or begin in stuck:
            continue
        chain: list[int] = []
        at: int | None = begin
        while at is not None and at not in chain:
            chain.append(at)
            at = following[at]
        chains.append(chain)
    chains.sort(key=len, reverse=True)
    return WaitGraph(chains, cycles)


def _cycles(edges: Sequence[Edge], following: list[int | None]) -> list[list[int]]:
    seen: set[int] = set()
    cycles = []
    for begin in range(len(edges)):
        path: list[int] = []
        at: int | None = begin
        while at is not None and at not in seen:
            seen.add(at)
            path.append(at)
            at = following[at]
        if at is None or at not in path:
            continue
        cycle = path[path.index(at) :]
        # Two threads cannot both have what both wait for: one lock is being handed over.
        if len(cycle) == 1 or len({edges[i].lock for i in cycle}) == len(cycle):
            cycles.append(cycle)
    return cycles
