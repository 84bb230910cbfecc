"""Paths, dominators and sizes of random graphs, held against their definitions."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from sonde.errors import SondeError
from sonde.heap.graph import NO_OBJECT, UNREACHABLE, HeapGraph
from sonde.heap.snapshot import HeapType, Label, Root, Snapshot


class Nothing:
    """Objects that have no contents."""

    def text(self, number: int) -> str | None:
        return None


def snapshot(edges: list[list[int]], roots: list[int], types: list[int]) -> Snapshot:
    count = len(edges)
    first = np.concatenate([[0], np.cumsum([len(to) for to in edges])]).astype(np.uint64)
    to = np.array([target for targets in edges for target in targets], np.uint32)
    return Snapshot(
        path="made up",
        runtime="hotspot",
        types=[HeapType(f"T{i}", i == 0, i > 0) for i in range(max(types, default=0) + 1)],
        labels=[Label("attribute", "field")],
        type=np.array(types, np.uint32),
        size=np.arange(1, count + 1, dtype=np.uint64),
        id=np.arange(count, dtype=np.uint64),
        first=first,
        to=to,
        label=np.zeros(len(to), np.uint32),
        roots=[Root(root, "root", "") for root in roots],
        contents=Nothing(),  # type: ignore[arg-type]
    )


def reached(edges: list[list[int]], roots: list[int], without: int | None = None) -> set[int]:
    found = {root for root in roots if root != without}
    left = list(found)
    while left:
        for to in edges[left.pop()]:
            if to != without and to not in found:
                found.add(to)
                left.append(to)
    return found


def drawn(seed: int) -> tuple[list[list[int]], list[int], list[int]]:
    """Sparse ones are like trees, dense ones have few dominators; some of it is garbage."""
    draw = random.Random(seed)
    count = draw.randint(1, 40)
    edges = [
        [draw.randrange(count) for _ in range(draw.choice((0, 1, 1, 2, 3)))] for _ in range(count)
    ]
    roots = [draw.randrange(count) for _ in range(draw.randint(0, 4))]
    return edges, roots, [draw.randrange(4) for _ in range(count)]


@pytest.mark.parametrize("seed", range(150))
def test_dominators_and_sizes(seed: int) -> None:
    edges, roots, types = drawn(seed)
    graph = HeapGraph(snapshot(edges, roots, types))
    alive = reached(edges, roots)
    # What would be gone without each object, itself included.
    gone = {one: alive - reached(edges, roots, one) for one in alive}
    sizes = graph.snapshot.size.tolist()
    for one in range(len(edges)):
        dominator = int(graph.dominators.dominator[one])
        if one not in alive:
            assert dominator == UNREACHABLE
            assert graph.retained[one] == 0
            continue
        above = {other for other in alive if other != one and one in gone[other]}
        # The immediate one is dominated by all the others.
        nearest = [other for other in above if above <= {*(a for a in above if other in gone[a])}]
        assert dominator == (nearest[0] if above else NO_OBJECT)
        assert graph.retained[one] == sum(sizes[other] for other in gone[one])
    for type_ in range(max(types) + 1):
        members = [one for one in alive if types[one] == type_]
        outer = [one for one in members if not any(one in gone[m] for m in members if m != one)]
        wanted = sum(sizes[other] for other in set().union(*(gone[one] for one in outer)))
        assert graph.retained_by_type[type_] == wanted
        assert graph.retained_by(np.array(members, np.uint32)) == wanted
    assert set(graph.dominators.order.tolist()) == alive


@pytest.mark.parametrize("seed", range(50))
def test_shortest_paths(seed: int) -> None:
    edges, roots, types = drawn(seed)
    graph = HeapGraph(snapshot(edges, roots, types))
    distance = dict.fromkeys(roots, 0)
    level = set(roots)
    while level:
        level = {to for one in level for to in edges[one]} - distance.keys()
        distance |= dict.fromkeys(level, max(distance.values()) + 1)
    for one in range(len(edges)):
        path = graph.path(one)
        assert len(path) == (distance[one] + 1 if one in distance else 0)
        assert all(after in edges[before] for before, after in itertools.pairwise(path))
        if path:
            assert path[0] in roots


def test_a_holder_is_beyond_containers() -> None:
    # Type 0 is a container: 0 -> 1 (container) -> 2 (container) -> 3.
    graph = HeapGraph(snapshot([[1], [2], [3], []], [0], [1, 0, 0, 2]))
    assert graph.holders.holder.tolist() == [NO_OBJECT, 0, 0, 0]


def test_objects_that_are_reached_alike_have_one_number() -> None:
    # Two of type 2 in one container, one of them in an outer one of type 1, and a chain of type 3.
    edges = [[1, 2, 3], [], [], [4], [5], []]
    numbers = HeapGraph(snapshot(edges, [0], [1, 2, 2, 3, 3, 3])).path_numbers.tolist()
    assert numbers[1] == numbers[2] != numbers[3]
    assert numbers[4] == numbers[5]


def test_a_chain_of_a_million() -> None:
    count = 1_000_000
    edges = [[one + 1] for one in range(count - 1)] + [[]]
    graph = HeapGraph(snapshot(edges, [0], [1] * count))
    assert graph.dominators.dominator[-1] == count - 2
    assert graph.retained[0] == count * (count + 1) // 2
    assert graph.retained_by_type[1] == graph.retained[0]


def test_a_reference_to_nothing_is_refused() -> None:
    with pytest.raises(SondeError, match="is damaged"):
        HeapGraph(snapshot([[1], [7]], [0], [1, 1]))
    with pytest.raises(SondeError, match="is damaged"):
        HeapGraph(snapshot([[1], [0]], [2], [1, 1]))
