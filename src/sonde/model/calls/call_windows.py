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

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sonde.model.proportion import CONFIDENT

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags, Ints

Floats = NDArray[np.float64]

UNKNOWN = 1
"""The duration of a window that is unknown: its calls weigh nothing."""

MANY = 255
"""As many calls, or more: how many is not known."""

MIN_NS = 1
"""Percent of the full windows that are taken to be as short as one can be."""

FAR = 5.0
"""The reach, in durations of the window that the middle one of all calls is in."""

BEYOND = 0.05
"""What calls keep of their weight that come after the reach, or that windows of another kind show
better: they happened, and what is found nowhere else should show."""

CLOCK = 0.2
"""The standard error of a density, relative: dense windows take a few microseconds, and how much
slower the program was for having been interrupted is not known. Densities of a call every 0.15 to
0.25 us came out a fifth too low."""


def call_weights(
    duration: Ints, stride: Ints, cut: Flags, window: Ints, offset: Ints, step: Ints | None = None
) -> Floats:
    """The weight of each counted call. `offset` is when in its window, -1 if that is not known.

    A window that ends with its last call ended because calls came early: n of them in the time t
    show a rate of (n - 1) / t. One that was cut by something else, or that counts for a fixed time
    only, shows n / t. Where `step` shows how many calls each counted one is from the one before it
    (0: not known), n is the number of all calls, also those that were passed over.
    """
    counted = np.bincount(window, minlength=len(duration))
    clocked = _clocked(len(duration), window, offset)
    known = (duration > UNKNOWN) & clocked
    full = ~cut & (counted > 0) & known
    lasted = np.maximum(duration, 1).astype(np.float64)
    if full.any():
        lasted = np.maximum(lasted, np.percentile(lasted[full], MIN_NS, method="lower"))
    fewer = np.where(cut, 1.0, np.maximum(counted - 1, 1) / np.maximum(counted, 1))
    by_window = stride * fewer / lasted
    made, stepped = _made(len(duration), window, step)
    of_each = np.maximum(made - 1, 1) / np.maximum(counted, 1)
    by_window = np.where(stepped & ~cut, of_each / lasted, by_window)
    # Where calls are so rare that most windows end by the clock, these show how long they are.
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
    if not full.any():
        return weights
    unclocked = np.where(duration > UNKNOWN, BEYOND, 0.0)[window]
    unclocked = unclocked * np.minimum(weights, stride[window] / reach)
    return np.asarray(np.where(known[window], weights, unclocked))


def _clocked(windows: int, window: Ints, offset: Ints) -> Flags:
    """Windows whose calls have a time, unless none has one.

    The first windows of a process were opened before the processor's counter was compared with a
    clock, so how long they took is known least: one had a seventh of all weight.
    """
    timed = np.bincount(window, offset >= 0, windows) > 0
    empty = np.bincount(window, minlength=windows) == 0
    return np.asarray(timed | empty | ~timed.any())


def _made(windows: int, window: Ints, step: Ints | None) -> tuple[Floats, Flags]:
    """How many calls the program made in each window up to the last counted one, where known."""
    if step is None:
        return np.zeros(windows), np.zeros(windows, dtype=bool)
    known = (step > 0) & (step < MANY)
    made = np.bincount(window, step, windows).astype(np.float64)
    return made, np.asarray(np.bincount(window, ~known, windows) == 0)


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


def effective_windows(window: Ints, windows: int, weight: Floats) -> float:
    """As many windows of equal weight say as much."""
    of_window = np.bincount(window, weight, windows)
    squares = float((of_window**2).sum())
    return float(of_window.sum()) ** 2 / squares if squares > 0 else 0.0


def interval(share: float, error: float, windows: float) -> tuple[float, float]:
    """The 95 % confidence interval of a share with this standard error.

    Wilson's, for as many independent calls as would have that error, and never for more than there
    are windows: where few have an edge, how they differ says little. Then it is widened, as odds,
    by what is not known of the densities that windows are weighed by.
    """
    if windows <= 0:
        return 0.0, 1.0
    share = min(max(share, 0.0), 1.0)
    spread = share * (1 - share)
    # A single edge has all calls, and its error is what rounding leaves.
    calls = min(spread / error**2, windows) if error > 0 and spread > 0 else windows
    z2 = CONFIDENT**2 / calls
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * spread + z2**2 / 4) / (1 + z2)
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    if not 0 < share < 1:
        return low, high
    return _widened(share, low, -1), _widened(share, high, 1)


def _widened(share: float, end: float, sign: int) -> float:
    if not 0 < end < 1:
        return end
    far = math.hypot(_log_odds(end) - _log_odds(share), CONFIDENT * CLOCK)
    return 1 / (1 + math.exp(-_log_odds(share) - sign * far))


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))
