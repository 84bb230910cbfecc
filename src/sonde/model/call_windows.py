"""What a counted call stands for (after Arnold & Grove, CGO 2005).

Windows are opened by a clock, calls are counted in them by number: a window holds the same number
of calls whether they came close together or far apart. Every call weighs the stride over the time
its window took, which is how often such calls came per second there, and windows are spread evenly
over CPU time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sonde.model.context_tree import Flags, Ints

Floats = NDArray[np.float64]

SHORT, SHORTEST = 10, 1
"""Percent of the full windows that are taken to be as short as one can be: for windows that were
cut, and for all."""


def call_weights(duration: Ints, stride: Ints, cut: Flags, counted: Ints) -> Floats:
    """The weight of each call of a window, by window.

    A window that ends with its last call ended because calls came early: n of them in the time t
    tell a rate of (n - 1) / t. One that was cut by something else tells n / t, but may be so short
    that one call in it would outweigh everything: it counts as no shorter than full ones are.
    """
    full = ~cut & (counted > 0)
    lasted = np.maximum(duration, 1).astype(np.float64)
    if full.any():
        short, shortest = np.percentile(lasted[full], [SHORT, SHORTEST], method="lower")
        lasted = np.maximum(lasted, np.where(cut, short, shortest))
    fewer = np.where(cut, 1.0, np.maximum(counted - 1, 1) / np.maximum(counted, 1))
    return np.asarray(stride * fewer / lasted)


def standard_errors(group: Ints, groups: int, window: Ints, windows: int, weight: Floats) -> Floats:
    """Of the share of each group in all weight, from how windows differ from each other.

    Calls of one window are alike, so they do not count as that many independent ones.
    """
    total = float(weight.sum())
    if total <= 0:
        return np.zeros(groups)
    share = np.bincount(group, weight, groups) / total
    of_window = np.bincount(window, weight, windows)
    pair, inverse = np.unique(group * windows + window, return_inverse=True)
    in_both = np.bincount(inverse, weight)
    who, where = pair // windows, pair % windows
    squares = np.bincount(who, in_both**2, groups)
    products = np.bincount(who, in_both * of_window[where], groups)
    spread = squares - 2 * share * products + share**2 * float((of_window**2).sum())
    return np.asarray(np.sqrt(np.maximum(spread, 0)) / total)
