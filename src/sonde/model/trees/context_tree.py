"""Algorithms over a calling context tree held as a column of parents.

Every tree here keeps the recording's promise that a parent's number is less than
its children's, -1 being the parent of a root. The work is done one depth at a time
over whole columns: a tree of 50,000 nodes takes milliseconds, however it is shaped.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

EXACT = 1 << 53
"""Doubles hold whole numbers up to this."""
PART_BITS = 26
"""A hundred million numbers of so many bits add up to less than that."""


class Merged(NamedTuple):
    """A tree made smaller: `tree`, the key of each of its nodes, and where each old node went."""

    tree: ContextTree
    key: Ints
    node: Ints


class ContextTree:
    """The shape of a tree; what its nodes stand for is the caller's business."""

    def __init__(self, parent: ArrayLike) -> None:
        self.parent: Ints = np.asarray(parent, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def depth(self) -> Ints:
        """Number of ancestors of each node, by doubling the reach of a jump."""
        jump = self.parent.copy()
        depth = (jump >= 0).astype(np.int64)
        while True:
            climbing = np.flatnonzero(jump >= 0)
            if not len(climbing):
                return depth
            over = jump[climbing]
            depth[climbing] += depth[over]
            jump[climbing] = jump[over]

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of each depth, roots first."""
        if not len(self):
            return []
        order = np.argsort(self.depth, kind="stable")
        ends = np.cumsum(np.bincount(self.depth))
        return np.split(order, ends[:-1])

    def totals(self, own: ArrayLike) -> Ints:
        """Each node's own value plus those of all nodes below it."""
        total = np.array(own, dtype=np.int64)
        for level in reversed(self.levels[1:]):
            np.add.at(total, self.parent[level], total[level])
        return total

    def positions(self, rank: ArrayLike | None = None) -> tuple[Ints, Ints]:
        """Where each node stands when the tree is read top-down, and the size of its subtree.

        Siblings come by descending `rank`, equal ones in the order of their numbers.
        """
        sizes = self.totals(np.ones(len(self), dtype=np.int64))
        if not len(self):
            return sizes, sizes
        falling = -np.asarray(rank, dtype=np.int64) if rank is not None else np.zeros_like(sizes)
        by_family = np.lexsort((falling, self.parent))
        before = np.cumsum(sizes[by_family]) - sizes[by_family]
        families = self.parent[by_family]
        starts = np.flatnonzero(np.r_[True, families[1:] != families[:-1]])
        first = np.zeros(len(self), dtype=np.int64)
        first[starts] = before[starts]
        position = np.empty(len(self), dtype=np.int64)
        position[by_family] = before - np.maximum.accumulate(first)
        for level in self.levels[1:]:
            position[level] += position[self.parent[level]] + 1
        return position, sizes

    def paths(self) -> Iterator[tuple[int, list[int]]]:
        """Every node with the nodes from its root to itself, top-down.

        The list is the same one each time, changed in between: to keep it, copy it.
        """
        position, _ = self.positions()
        order = np.argsort(position)
        path: list[int] = []
        for node, depth in zip(order.tolist(), self.depth[order].tolist(), strict=True):
            del path[depth:]
            path.append(node)
            yield node, path

    def outermost(self, key: ArrayLike) -> Flags:
        """Which nodes have no ancestor of the same key.

        Summing the totals of these alone counts a recursive function once. Subtrees
        are intervals of the top-down order, so a node is inner exactly when it begins
        before some earlier node of its key has ended.
        """
        keys = np.asarray(key, dtype=np.int64)
        if not len(self):
            return np.zeros(0, dtype=bool)
        position, sizes = self.positions()
        order = np.lexsort((position, keys))
        # A stride wider than the tree keeps the running maximum from reaching the next key.
        stride = len(self) + 1
        _, dense = np.unique(keys[order], return_inverse=True)
        begin = position[order] + dense * stride
        end = begin + sizes[order]
        reach = np.maximum.accumulate(end)
        alone = np.ones(len(self), dtype=bool)
        alone[order[1:]] = begin[1:] >= reach[:-1]
        return alone

    def merged(self, key: ArrayLike) -> Merged:
        """One node for all siblings of equal key, from the roots downwards."""
        keys = np.asarray(key, dtype=np.int64)
        node = np.empty(len(self), dtype=np.int64)
        span = int(keys.max()) + 1 if len(self) else 1
        parents: list[Ints] = []
        merged_keys: list[Ints] = []
        made = 0
        for level in self.levels:
            parent = self.parent[level]
            above = np.where(parent >= 0, node[parent], -1)
            pairs, inverse = np.unique((above + 1) * span + keys[level], return_inverse=True)
            node[level] = made + inverse
            parents.append(pairs // span - 1)
            merged_keys.append(pairs % span)
            made += len(pairs)
        empty = [np.zeros(0, dtype=np.int64)]
        return Merged(
            ContextTree(np.concatenate(parents or empty)),
            np.concatenate(merged_keys or empty),
            node,
        )

    def kept(self, keep: Flags) -> tuple[ContextTree, Ints]:
        """The tree of the nodes kept, and their old numbers; a kept node's parent is kept too."""
        old = np.flatnonzero(keep)
        new = np.full(len(self) + 1, -1, dtype=np.int64)
        new[old] = np.arange(len(old))
        return ContextTree(new[self.parent[old]]), old

    def nearest(self, wanted: Flags) -> Ints:
        """For each node itself if wanted, else its nearest wanted ancestor, -1 if there is none."""
        found = np.where(wanted, np.arange(len(self)), -1)
        for level in self.levels[1:]:
            lost = level[found[level] < 0]
            found[lost] = found[self.parent[lost]]
        return found


def sums(index: ArrayLike, values: ArrayLike, size: int) -> Ints:
    """Sum of `values` by `index`, of `size` places.

    Counted in doubles, which are exact up to 2**53 ns: 104 days of one thread's time. What may add
    up to more, as in a fleet, is counted in two parts.
    """
    places, numbers = np.asarray(index), np.asarray(values)
    if len(numbers) and float(np.abs(numbers).max()) * len(numbers) >= EXACT:
        upper = np.bincount(places, numbers >> PART_BITS, size).astype(np.int64)
        lower = np.bincount(places, numbers & ((1 << PART_BITS) - 1), size).astype(np.int64)
        return (upper << PART_BITS) + lower
    return np.rint(np.bincount(places, numbers, size)).astype(np.int64)
