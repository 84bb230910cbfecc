"""How much is alive when: sums over intervals from an allocation to its end.

Every object stands for a number of bytes or objects (`weight`) and belongs to a group. It is alive
at a moment from its beginning on and before its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEVER = np.iinfo(np.int64).max
"""The end of what is alive in the end."""


class HighWater(NamedTuple):
    """By group: the most that was alive at once, and when first."""

    most: Floats
    time: Ints


def high_water(group: Ints, groups: int, begin: Ints, end: Ints, weight: Floats) -> HighWater:
    most, time = np.zeros(groups), np.zeros(groups, dtype=np.int64)
    if not len(group):
        return HighWater(most, time)
    ended = np.flatnonzero(end != NEVER)
    when = np.concatenate([begin, end[ended]])
    of = np.concatenate([group, group[ended]])
    change = np.concatenate([weight, -weight[ended]])
    # What ends at the moment at which something else begins was not alive together with it.
    order = np.lexsort((change, when, of))
    of, when, change = of[order], when[order], change[order]
    running = np.cumsum(change)
    first = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    before = np.append(0.0, running)[first]
    alive = running - np.repeat(before, np.diff(np.append(first, len(of))))
    most[of[first]] = np.maximum(np.maximum.reduceat(alive, first), 0.0)
    # Sums of fractions that are the same differ in their last digits.
    reached = np.flatnonzero(alive >= most[of] * (1 - 1e-12))
    _, earliest = np.unique(of[reached], return_index=True)
    time[of[reached[earliest]]] = when[reached[earliest]]
    return HighWater(most, time)


def alive_at(moments: Ints, begin: Ints, end: Ints, weight: Floats) -> Floats:
    """How much is alive at each of some ascending moments."""
    size = len(moments) + 1
    begun = np.bincount(np.searchsorted(moments, begin), weight, size)
    ended = np.bincount(np.searchsorted(moments, end), weight, size)
    found: Floats = np.maximum(np.cumsum(begun - ended)[:-1], 0.0)
    return found


def lifetimes(
    group: Ints, groups: int, begin: Ints, end: Ints, weight: Floats
) -> list[list[tuple[int, int]]]:
    """By group: of what has ended, the powers of two nanoseconds that lives did not exceed and how
    many there were, without empty ones."""
    ended = np.flatnonzero(end != NEVER)
    ns = np.maximum(end[ended] - begin[ended], 0)
    power = np.frexp(np.maximum(ns - 1, 0).astype(np.float64))[1].astype(np.int64)
    counts = np.bincount(group[ended] * 64 + power, weight[ended], groups * 64)
    found: list[list[tuple[int, int]]] = [[] for _ in range(groups)]
    for code in np.flatnonzero(counts).tolist():
        found[code // 64].append((1 << code % 64, round(float(counts[code]))))
    return found
