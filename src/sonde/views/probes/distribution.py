"""Numbers in groups: by their size, and over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_DISTINCT = 16
"""So many different whole numbers are groups of their own."""
GROUPS = 16
WIDE = 64.0
"""Where the largest is more than so many times the smallest, groups double."""
STEPS = 60
"""Parts that the time is divided into."""


def histogram(values: Floats) -> list[tuple[float, int]]:
    """The upper bound of each group, which belongs to it, and how many numbers are in it."""
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    distinct, counts = np.unique(values, return_counts=True)
    whole = bool((distinct == np.rint(distinct)).all())
    if len(distinct) == 1 or (whole and len(distinct) <= MAX_DISTINCT):
        return list(zip(distinct.tolist(), counts.tolist(), strict=True))
    low, high = float(distinct[0]), float(distinct[-1])
    if low >= 0 and high > WIDE * max(low, float(distinct[distinct > 0][0])):
        first = int(np.floor(np.log2(float(distinct[distinct > 0][0]))))
        last = int(np.ceil(np.log2(high)))
        bounds = np.exp2(np.arange(first, last + 1, dtype=np.float64))
        if low == 0:
            bounds = np.append(0.0, bounds)
    else:
        bounds = np.linspace(low, high, GROUPS + 1)[1:]
        if whole:
            bounds = np.unique(np.ceil(bounds))
    bounds[-1] = max(bounds[-1], high)
    group = np.searchsorted(bounds, values)
    found = np.bincount(group, minlength=len(bounds))
    return [(float(upper), int(n)) for upper, n in zip(bounds, found, strict=True) if n]


def over_time(times: Ints, values: Floats, begin: int, end: int) -> list[dict[str, Any]]:
    """In equal parts of the time: how many values, and of numbers the mean, least and greatest.

    `values` is NaN for what is no number.
    """
    if not len(times):
        return []
    width = max((end - begin) // STEPS + 1, 1)
    step = np.clip((times - begin) // width, 0, STEPS - 1)
    rows = []
    for number in np.unique(step).tolist():
        mine = values[step == number]
        numbers = mine[np.isfinite(mine)]
        rows.append(
            {
                "start_ns": begin + number * width,
                "count": len(mine),
                "mean": float(numbers.mean()) if len(numbers) else None,
                "min": float(numbers.min()) if len(numbers) else None,
                "max": float(numbers.max()) if len(numbers) else None,
            }
        )
    return rows
