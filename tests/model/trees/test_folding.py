"""Folded trees against ones done by hand."""

from __future__ import annotations

import numpy as np

from sonde.model.trees.context_tree import ContextTree
from sonde.model.trees.folding import cut_below, fold


def test_what_wanted_nodes_call_is_one_node_each() -> None:
    #       0 lib ─ 1 own ─ 2 lib ─ 3 lib ─ 4 own ─ 5 lib
    #       └ 6 lib                └ 7 lib
    tree = ContextTree([-1, 0, 1, 2, 3, 4, 0, 3])
    wanted = np.array([False, True, False, False, True, False, False, False])
    found = fold(tree, wanted)
    # Node 0 is for what no wanted node called.
    assert found.old.tolist() == [-1, 0, 1, 2, 4, 5]
    assert found.tree.parent.tolist() == [-1, 0, -1, 2, 3, 4]
    assert found.node.tolist() == [1, 2, 3, 3, 4, 5, 1, 3]


def test_no_node_is_wanted_or_all_are() -> None:
    tree = ContextTree([-1, 0, 1, -1])
    none = fold(tree, np.zeros(4, dtype=bool))
    assert none.tree.parent.tolist() == [-1, 0, 0]
    assert none.node.tolist() == [1, 1, 1, 2]
    every = fold(tree, np.ones(4, dtype=bool))
    assert every.tree.parent.tolist() == [-1, -1, 1, 2, -1]
    assert every.node.tolist() == [1, 2, 3, 4]


def test_of_an_empty_tree() -> None:
    found = fold(ContextTree([]), np.zeros(0, dtype=bool))
    assert found.tree.parent.tolist() == [-1]
    assert len(found.node) == 0


def test_random_trees_keep_their_sums() -> None:
    die = np.random.default_rng(1)
    for _ in range(50):
        size = int(die.integers(1, 40))
        tree = ContextTree([int(die.integers(-1, i)) if i else -1 for i in range(size)])
        wanted = die.random(size) < 0.4
        own = die.integers(0, 9, size)
        found = fold(tree, wanted)
        assert (found.tree.parent < np.arange(len(found.tree))).all()
        summed = np.bincount(found.node, own, len(found.tree))
        assert summed.sum() == own.sum()
        # Below a wanted root is exactly what was below it before.
        totals, before = found.tree.totals(summed), tree.totals(own)
        for node in np.flatnonzero(wanted).tolist():
            assert totals[found.node[node]] == before[node]


def test_cut_below_the_outermost_flagged_node() -> None:
    tree = ContextTree([-1, 0, 1, 2, -1, 4])
    found = cut_below(tree, np.array([False, True, False, True, False, False]))
    assert found.old.tolist() == [0, 1, 4, 5]
    assert found.tree.parent.tolist() == [-1, 0, -1, 2]
    assert found.node.tolist() == [0, 1, 1, 1, 2, 3]
