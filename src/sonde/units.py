"""Sizes and times as people write them: 100MB, 10m, 200ms."""

from __future__ import annotations

import re

from sonde.errors import UsageError

_SIZES = {
    "": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}  # fmt: skip
_TIMES = {
    "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9,
    "h": 3600 * 10**9, "d": 86400 * 10**9,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Zµ]*)\s*\Z")


def parse_size(option: str, text: str | int) -> int:
    """Bytes; KB and MB count by thousands, KiB and MiB by 1024."""
    size = _number(str(text), _SIZES)
    if size is None or size < 1:
        raise UsageError(f"invalid {option} {text!r}; give a size such as 100MB")
    return size


def parse_time(option: str, text: str | float) -> int:
    """Nanoseconds; a bare number is seconds."""
    ns = try_time(str(text))
    if ns is None or not 0 < ns < 2**62:
        raise UsageError(f"invalid {option} {text!r}; give a time such as 10m, 30s or 200ms")
    return ns


def try_time(text: str) -> int | None:
    """Nanoseconds; None: it is no time."""
    return _number(text, {**_TIMES, "": 10**9})


def is_size(text: str) -> bool:
    """Whether it ends in bytes; `10m` is a time, `10M` and `10MB` are sizes."""
    found = _QUANTITY.match(text)
    unit = found[2] if found else ""
    return unit[-1:] in ("B", "b", "K", "M", "G", "k", "g")


def parse_share(option: str, text: str | float) -> float:
    """A share of one core: 1%, 0.5%."""
    # A bare 0.01 may mean a hundredth or a hundredth of a percent: neither is assumed.
    found = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*\Z", str(text))
    share = float(found[1]) / 100 if found else 0.0
    if not 0 < share <= 1:
        raise UsageError(f"invalid {option} {text!r}; give a percentage of one core, such as 1%")
    return share


def size_words(size: int) -> str:
    for unit, n in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= n:
            return f"{size / n:.3g} {unit}"
    return f"{size} bytes"


def _number(text: str, units: dict[str, int]) -> int | None:
    found = _QUANTITY.match(text)
    if found is None:
        return None
    unit = units.get(found[2].lower())
    return None if unit is None else round(float(found[1]) * unit)
