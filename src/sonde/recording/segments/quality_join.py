"""What several segments say about themselves, said of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# Everything else that is a number is a count, and counts add up.
_NO_COUNTS = frozenset({"rate_asked", "rate_achieved"})


def joined_quality(parts: Sequence[dict[str, Any]], starts: Sequence[int]) -> dict[str, Any]:
    """`starts`: when each segment began, after the first."""
    joined: dict[str, Any] = {}
    for quality in parts:
        for key, value in quality.items():
            known = joined.get(key)
            if _is_count(key, value) and _is_count(key, known):
                joined[key] = known + value
            elif key == "refused" and isinstance(known, dict):
                joined[key] = {k: known.get(k, 0) + value.get(k, 0) for k in {*known, *value}}
            elif key == "events" and isinstance(known, list) and isinstance(value, list):
                joined[key] = _events([*known, *value])
            elif value is not None or key not in joined:
                joined[key] = value
    joined |= _means(parts)
    joined.pop("rates", None)
    if rates := _rates(parts, starts):
        joined["rates"] = rates
    return joined


def _events(entries: list[Any]) -> list[Any]:
    """How many of each kind of event were recorded and counted in all segments."""
    joined: dict[tuple[Any, Any], dict[str, Any]] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        key = (entry.get("name"), entry.get("period"))
        known = joined.get(key)
        if known is None:
            joined[key] = dict(entry)
            continue
        for count in ("told", "counted"):
            known[count] = int(_positive(known.get(count)) + _positive(entry.get(count)))
        known["why_not"] = entry.get("why_not") or known.get("why_not")
    return list(joined.values())


def _is_count(key: str, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and key not in _NO_COUNTS


def _means(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By the CPU time of each segment."""
    ran = [_positive(quality.get("running_samples")) for quality in parts]
    rates = [_positive(quality.get("rate_achieved")) for quality in parts]
    asked = [_positive(quality.get("rate_asked")) for quality in parts]
    cpu = [n / rate if rate else 0.0 for n, rate in zip(ran, rates, strict=True)]
    total = sum(cpu)
    if not 0 < total < math.inf:
        return {}
    return {
        "rate_achieved": round(sum(ran) / total, 1),
        "rate_asked": round(sum(a * (c / total) for a, c in zip(asked, cpu, strict=True))),
    }


def _positive(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _rates(parts: Sequence[dict[str, Any]], starts: Sequence[int]) -> list[list[int]]:
    """When the rate was changed and to what, if it ever was; the first one comes first."""
    found: list[list[int]] = []
    for quality, start in zip(parts, starts, strict=True):
        rates = quality.get("rates")
        if not isinstance(rates, list):
            rates = [[0, quality.get("rate_asked")]]
        for change in rates:
            match change:
                case [int(at), int(rate)] if not found or found[-1][1] != rate:
                    found.append([at + start, rate])
    return found if len(found) > 1 else []
