"""How alike two calling context trees are, as Hofer defines it (thesis, 3.4.2, figures 3.16, 3.17),
and as Whaley does (Java Grande 2000, section 4).

Trees have a node for each function and path of callers. Edges are identified by the node they lead
to, a root's coming from outside, and weigh what the callee itself spent. Weights come as columns
over the union of both trees, 0 where a tree has no such edge: that adds nothing to an overlap, and
is hot for no threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.model.trees.context_tree import Flags, Ints

HOT = 0.1
"""An edge is hot if it weighs at least a tenth of the hottest one (Hofer's choice)."""


def overlap(base: Ints, new: Ints) -> float | None:
    """From 0 (nothing in common) to 1 (the same shares everywhere); None: a tree is empty."""
    all_base, all_new = int(base.sum()), int(new.sum())
    if not all_base or not all_new:
        return None
    # The shares of a tree add up to 1 but for rounding.
    return min(math.fsum(np.minimum(base / all_base, new / all_new).tolist()), 1.0)


def hot_edges(weights: Ints, threshold: float = HOT) -> Flags:
    hottest = int(weights.max(initial=0))
    return np.greater(weights, 0) & np.greater_equal(weights, threshold * hottest)


def coverage(by: Ints, of: Ints, threshold: float = HOT) -> float | None:
    """The share of the hot edges of `of` that are hot in `by`, too; None: there are none."""
    hot = hot_edges(of, threshold)
    if not hot.any():
        return None
    return int((hot & hot_edges(by, threshold)).sum()) / int(hot.sum())


def correlation(base: Ints, new: Ints) -> float | None:
    """Covariance over the product of the standard deviations, of edges that either tree has.

    1: the same weights but for a factor; 0: they have nothing to do with each other. None: all
    edges of a tree weigh the same, or there are none.
    """
    either = (base > 0) | (new > 0)
    if not either.any():
        return None
    one, other = _from_mean(base[either]), _from_mean(new[either])
    spread = math.sqrt(math.fsum(one**2)) * math.sqrt(math.fsum(other**2))
    if not spread:
        return None
    return max(-1.0, min(math.fsum(one * other) / spread, 1.0))


def _from_mean(weights: Ints) -> NDArray[np.float64]:
    """fsum: the same whatever order the edges are in, as they are where a store is asked."""
    return weights.astype(np.float64) - math.fsum(weights) / len(weights)


@dataclass(frozen=True)
class Likeness:
    """All of it; None each where there is nothing to compare."""

    overlap: float | None
    base_by_new: float | None
    """Of the hot edges of the base those that are hot in the new one."""
    new_by_base: float | None
    correlation: float | None

    @staticmethod
    def of(base: Ints, new: Ints) -> Likeness:
        return Likeness(
            overlap(base, new), coverage(new, base), coverage(base, new), correlation(base, new)
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "overlap": self.overlap,
            "hot_edge_coverage": {
                "threshold": HOT,
                "base_by_new": self.base_by_new,
                "new_by_base": self.new_by_base,
            },
            "correlation": self.correlation,
        }
