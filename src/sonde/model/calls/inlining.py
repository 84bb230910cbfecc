"""Which calls an optimiser, or a person, would do away with first (Arnold & Grove, CGO 2005, 5.1).

No sharp line between hot and cold: how large a callee may be grows linearly with the weight of its
call site, up to a bound. Of a site with several targets only one that dominates is worth a guard.
"""

from __future__ import annotations

DOMINATES = 0.4
"""The share of a site's calls from which on a target is a candidate for guarded inlining."""

# Of CPython's code units, caches included: `return self.x` has about 15.
_MIN_SIZE, _MAX_VALUE = 30, 500
_PER_SHARE = 4000


def size_threshold(weight: float) -> int:
    """Instructions that a callee may have at a site of that share of all calls."""
    return min(_MAX_VALUE, round(_MIN_SIZE + _PER_SHARE * weight))
