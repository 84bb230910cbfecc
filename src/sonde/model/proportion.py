"""How accurate is a share that samples estimate?"""

from __future__ import annotations

import math

CONFIDENT = 1.96
"""Standard errors to either side of an estimate that 95 % of such intervals need."""


def share_interval(share: float, samples: float) -> tuple[float, float]:
    """The 95 % confidence interval (Wilson's) of a share that this many samples estimate.

    Unlike a margin around the share, it stays within 0 and 1 and is valid for few samples.
    """
    if samples <= 0:
        return 0.0, 1.0
    z2 = CONFIDENT**2 / samples
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    return max(middle - half, 0.0), min(middle + half, 1.0)
