"""How far an estimate may be off that comes from short windows, one at random in each period.

Samples of one window are alike, so they are no independent samples. Windows that follow each other
differ by chance and by what the program did meanwhile: half the squared differences between
neighbours are the variance of their sum, whatever the program does for longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def windows_of(time: Ints, open_ns: int, period_ns: int) -> Ints:
    """A number for the window that each sample is in, ascending from 0.

    Those of neighbours differ by 1; where there are windows without any sample between two of them,
    or none were open, they differ by 2.
    """
    if not len(time):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(time, kind="stable")
    gap = np.diff(time[order])
    step = np.where(gap <= open_ns, 0, np.where(gap <= 2 * period_ns, 1, 2))
    number = np.empty(len(time), dtype=np.int64)
    number[order] = np.append(0, np.cumsum(step))
    return number


def window_variance(window: Ints, value: Floats, group: Ints, groups: int) -> Floats:
    """By group: the variance of the sum of its values."""
    found: Floats = np.zeros(groups)
    if not len(window):
        return found
    span = int(window.max()) + 2
    key, place = np.unique(group * span + window, return_inverse=True)
    total = np.bincount(place, value)
    of = key // span
    # Neighbours have keys that differ by 1; groups are further apart.
    beside = np.append(np.diff(key) == 1, False)
    after = np.append(total[1:], 0.0)
    # Up from the window before, and down to the one after: from or to nothing if that had none.
    rises = np.append(True, ~beside[:-1])
    up = np.where(rises, total**2, 0.0)
    down = np.where(beside, (after - total) ** 2, total**2)
    found += np.bincount(of, (up + down) / 2, groups)
    return found
