"""The heaviest path to an object: against the references, over what retains the most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.heap.graph import HeapGraph

MAX_STEPS = 20_000


def heaviest_path(graph: HeapGraph, number: int) -> list[int]:
    """From a root to this object: of each object on it, the one before retains the most of those
    that refer to it. Empty if no root leads there, or if it would be too long to be read."""
    if not graph.reachable[number]:
        return []
    seen = {number}
    path = [number]
    choices = [_by_weight(graph, number)]
    steps = 0
    while path[-1] not in graph.root_of:
        steps += 1
        if steps > MAX_STEPS:
            return []
        before = next((one for one in choices[-1] if one not in seen), None)
        if before is None:
            # A circle: every other way out of it was tried.
            path.pop()
            choices.pop()
            if not path:
                return []
            continue
        seen.add(before)
        path.append(before)
        choices.append(_by_weight(graph, before))
    return path[::-1]


def _by_weight(graph: HeapGraph, number: int) -> Iterator[int]:
    """What refers to an object, the heaviest first."""
    sources = np.unique(graph.referrers(number))
    sources = sources[graph.reachable[sources]]
    order = np.argsort(-graph.retained[sources].astype(np.int64), kind="stable")
    return iter(sources[order].tolist())
