"""A calling context tree in which only the nodes of some functions keep their callees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.model.trees.context_tree import ContextTree, Flags, Ints


class Folded(NamedTuple):
    """The smaller tree; its node 0 is the root of what is below no wanted node."""

    tree: ContextTree
    old: Ints
    """Of each node the one that it was, -1: of node 0."""
    node: Ints
    """Where each old node went."""


def fold(tree: ContextTree, wanted: Flags) -> Folded:
    """Keeps the wanted nodes, and what they call as one node each.

    What is not wanted and called by something that is not wanted, either, becomes part of its
    caller. Wanted nodes with none above them are roots.
    """
    size = len(tree)
    has_parent = tree.parent >= 0
    called_by_wanted = has_parent & wanted[tree.parent] if size else has_parent
    kept = wanted | ~has_parent | called_by_wanted
    place = tree.nearest(kept)
    inside = tree.nearest(wanted) >= 0

    old = np.flatnonzero(kept)
    number = np.zeros(size, dtype=np.int64)
    number[old] = np.arange(1, len(old) + 1)
    caller = np.where(has_parent, place[tree.parent], -1) if size else tree.parent
    below = (caller >= 0) & inside[caller] if size else has_parent
    parent = np.where(below, number[caller], np.where(wanted, -1, 0)) if size else tree.parent
    return Folded(
        ContextTree(np.append(-1, parent[old])),
        np.append(-1, old),
        number[place] if size else number,
    )


def cut_below(tree: ContextTree, flags: Flags) -> Folded:
    """Makes what flagged nodes call, directly or not, a part of the outermost of them."""
    place = np.where(flags, np.arange(len(tree)), -1)
    for level in tree.levels[1:]:
        above = place[tree.parent[level]]
        place[level] = np.where(above >= 0, above, place[level])
    place = np.where(place < 0, np.arange(len(tree)), place)
    smaller, old = tree.kept(place == np.arange(len(tree)))
    number = np.full(len(tree), -1, dtype=np.int64)
    number[old] = np.arange(len(old))
    return Folded(smaller, old, number[place])
