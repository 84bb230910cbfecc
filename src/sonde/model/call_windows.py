"""What a counted call stands for (after Arnold & Grove, CGO 2005).

Windows are opened by a clock, calls are counted in them by number: a window holds the same number
of calls whether they came close together or far apart. A call is in a window if that was opened
while the calls before it were made, as many as a window holds, so it should weigh the inverse of
the time these took. That is not known, for most of them came before the window. Two things stand
for it:

- the time the window itself took. That is right where calls come evenly, and wrong where a window
  reaches from a sparse part into a dense one: the first calls of the dense part are found by all
  windows that were opened during the last sparse moments, and weigh too much;
- for windows that last longer than others, a fixed time: only the calls of its first so many
  microseconds count. Each call is then found by windows opened within that time before it, however
  dense calls are. What is lost are calls of sparse parts, of which there are few in any case.

So there is one reach for all windows, longer than the dense ones take: a shorter one would count
less of what it finds, and more of the first moments after a window was opened, in which the program
is slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sonde.model.context_tree import Flags, Ints

Floats = NDArray[np.float64]

UNKNOWN = 1
"""The duration of a window that could not be told: its calls weigh nothing."""

SHORTEST = 1
"""Percent of the full windows that are taken to be as short as one can be."""

FAR = 5.0
"""The reach, in durations of the window that the middle one of all calls is in."""

BEYOND = 0.05
"""What calls keep of their weight that come after the reach, or that windows of another kind tell
better: they happened, and what is found nowhere else should show."""


def call_weights(duration: Ints, stride: Ints, cut: Flags, window: Ints, offset: Ints) -> Floats:
    """The weight of each counted call. `offset` is when in its window, -1 if that is not known.

    A window that ends with its last call ended because calls came early: n of them in the time t
    tell a rate of (n - 1) / t. One that was cut by something else, or that counts for a fixed time
    only, tells n / t.
    """
    counted = np.bincount(window, minlength=len(duration))
    known = duration > UNKNOWN
    full = ~cut & (counted > 0) & known
    lasted = np.maximum(duration, 1).astype(np.float64)
    if full.any():
        lasted = np.maximum(lasted, np.percentile(lasted[full], SHORTEST, method="lower"))
    fewer = np.where(cut, 1.0, np.maximum(counted - 1, 1) / np.maximum(counted, 1))
    by_window = stride * fewer / lasted
    # Where calls are so rare that most windows end by the clock, these tell how long they are.
    rare = 2 * counted[full].sum() < counted[known].sum()
    typical = lasted[known & (counted > 0) if rare else full]
    reach = _reach(typical) if len(typical) else float(lasted.max(initial=1))
    long = (lasted > reach)[window] & (offset >= 0)
    by_reach = np.where(offset <= reach, stride[window] / reach, 0.0)
    weights = np.where(
        long, (1 - BEYOND) * by_reach + BEYOND * by_window[window], by_window[window]
    )
    # A cut one may be so short that one call in it would outweigh everything.
    weights = np.where(cut[window], np.minimum(weights, stride[window] / reach), weights)
    return np.asarray(np.where(known[window], weights, 0.0)) if full.any() else weights


def _reach(lasted: Floats) -> float:
    order = np.sort(lasted)
    calls = np.cumsum(1 / order)
    return FAR * float(order[np.searchsorted(calls, calls[-1] / 2)])


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
