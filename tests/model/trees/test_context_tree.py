"""The tree algorithms against trees small enough to do by hand, and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.trees.context_tree import ContextTree, sums

#        0       5
#       / \      |
#      1   3     6
#      |   |
#      2   4
PARENT = [-1, 0, 1, 0, 3, -1, 5]


def random_parents(seed: int, size: int) -> list[int]:
    random = np.random.default_rng(seed)
    # Mostly close to their parent, so that the tree is deep as well as broad.
    return [int(random.integers(max(-1, i - 6), i)) if i else -1 for i in range(size)]


def ancestors(parent: list[int], node: int) -> list[int]:
    found = []
    while parent[node] >= 0:
        node = parent[node]
        found.append(node)
    return found


def test_depth_and_levels() -> None:
    tree = ContextTree(PARENT)
    assert tree.depth.tolist() == [0, 1, 2, 1, 2, 0, 1]
    assert [level.tolist() for level in tree.levels] == [[0, 5], [1, 3, 6], [2, 4]]


def test_totals_sum_whole_subtrees() -> None:
    tree = ContextTree(PARENT)
    assert tree.totals([1, 10, 100, 1_000, 10_000, 7, 3]).tolist() == [
        11_111, 110, 100, 11_000, 10_000, 10, 3,
    ]  # fmt: skip


def test_totals_leave_their_argument_alone() -> None:
    own = np.array([1, 2], dtype=np.int64)
    ContextTree([-1, 0]).totals(own)
    assert own.tolist() == [1, 2]


def test_positions_put_the_heavier_sibling_first() -> None:
    tree = ContextTree(PARENT)
    position, sizes = tree.positions([9, 1, 1, 5, 5, 20, 20])
    assert sizes.tolist() == [5, 2, 1, 2, 1, 2, 1]
    # 5, 6 first (20 > 9), then 0, then 3, 4 (5 > 1), then 1, 2.
    assert position.tolist() == [2, 5, 6, 3, 4, 0, 1]


def test_positions_keep_the_order_of_equals() -> None:
    position, _ = ContextTree([-1, 0, 0, 0]).positions()
    assert position.tolist() == [0, 1, 2, 3]


def test_outermost_sees_through_other_keys() -> None:
    # a > b > a > b, and beside it b > b
    tree = ContextTree([-1, 0, 1, 2, -1, 4])
    assert tree.outermost([7, 8, 7, 8, 8, 8]).tolist() == [True, True, False, False, True, False]


def test_outermost_does_not_confuse_cousins() -> None:
    # root > (a > x, a > x): neither a is inside the other.
    tree = ContextTree([-1, 0, 1, 0, 3])
    assert tree.outermost([1, 2, 3, 2, 3]).tolist() == [True] * 5


def test_merged_joins_siblings_of_equal_key_and_their_children() -> None:
    # root 9 > two 4s > each a 5; and a second root 9 > 4
    tree = ContextTree([-1, 0, 0, 1, 2, -1, 5])
    merged = tree.merged([9, 4, 4, 5, 5, 9, 4])
    assert merged.tree.parent.tolist() == [-1, 0, 1]
    assert merged.key.tolist() == [9, 4, 5]
    assert merged.node.tolist() == [0, 1, 1, 2, 2, 0, 1]


def test_kept_renumbers() -> None:
    tree, old = ContextTree(PARENT).kept(np.array([1, 0, 0, 1, 1, 0, 0], dtype=bool))
    assert old.tolist() == [0, 3, 4]
    assert tree.parent.tolist() == [-1, 0, 1]


def test_nearest_climbs_to_the_next_wanted() -> None:
    wanted = np.array([1, 0, 0, 1, 0, 0, 0], dtype=bool)
    assert ContextTree(PARENT).nearest(wanted).tolist() == [0, 0, 0, 3, 3, -1, -1]


def test_an_empty_tree_is_no_special_case() -> None:
    tree = ContextTree([])
    assert tree.levels == []
    assert tree.totals([]).tolist() == []
    assert tree.positions()[0].tolist() == []
    assert tree.outermost([]).tolist() == []
    assert tree.merged([]).key.tolist() == []


def test_a_chain_deeper_than_any_stack() -> None:
    size = 5_000
    tree = ContextTree(np.arange(size) - 1)
    assert tree.depth.tolist() == list(range(size))
    assert tree.totals(np.ones(size))[0] == size
    assert tree.outermost(np.zeros(size)).sum() == 1


@pytest.mark.parametrize("seed", range(5))
def test_against_plain_loops(seed: int) -> None:
    parent = random_parents(seed, 400)
    tree = ContextTree(parent)
    random = np.random.default_rng(seed + 100)
    own = random.integers(0, 1_000, len(parent))
    key = random.integers(0, 12, len(parent))

    above = [ancestors(parent, i) for i in range(len(parent))]
    total = own.copy()
    for i, nodes in enumerate(above):
        for node in nodes:
            total[node] += own[i]
    assert tree.depth.tolist() == [len(nodes) for nodes in above]
    assert tree.totals(own).tolist() == total.tolist()
    assert tree.outermost(key).tolist() == [
        all(key[node] != key[i] for node in nodes) for i, nodes in enumerate(above)
    ]

    merged = tree.merged(key)
    paths = [tuple(int(key[n]) for n in (i, *nodes)) for i, nodes in enumerate(above)]
    assert len(merged.tree) == len(set(paths))
    for i, path in enumerate(paths):
        node = int(merged.node[i])
        climbed = [
            int(merged.key[n]) for n in (node, *ancestors(merged.tree.parent.tolist(), node))
        ]
        assert tuple(climbed) == path

    position, sizes = tree.positions(own)
    assert sorted(position.tolist()) == list(range(len(parent)))
    for i, nodes in enumerate(above):
        for node in nodes:
            assert position[node] < position[i] < position[node] + sizes[node]


def test_sums_are_exact_where_doubles_would_round_one_by_one() -> None:
    large = 2**52
    assert sums([0, 0, 2], [large, 1, 5], 4).tolist() == [large + 1, 0, 5, 0]
