"""Figures in units people say."""

from __future__ import annotations

from collections.abc import Iterable

NAMES_IN_SENTENCE = 8

TIMES = {
    "running": "on-CPU",
    "waiting": "off-CPU",
    "wall": "wall-clock",
    "taken": "run-queue, throttling or steal",
}
"""What reports call the time that a view counts."""

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1))
_MINUTE = 60 * 1_000_000_000


def duration(ns: float) -> str:
    """Three digits and a unit: 12.3 s, 450 µs; from two minutes on 2 min 5 s, 3 h 20 min."""
    if ns < 0:
        return f"-{duration(-ns)}"
    if ns >= 2 * _MINUTE:
        seconds = round(ns / 1_000_000_000)
        if seconds < 2 * 3600:
            return f"{seconds // 60} min {seconds % 60} s"
        minutes = round(seconds / 60)
        return f"{minutes // 60} h {minutes % 60} min"
    for place, (unit, size) in enumerate(_UNITS):
        if ns >= size:
            digits = _three_digits(ns / size)
            # 999.7 µs rounds to 1000 µs, which people call 1.00 ms.
            if digits == "1000" and place:
                return f"1.00 {_UNITS[place - 1][0]}"
            return f"{digits if size > 1 else round(ns)} {unit}"
    return "0 s"


def measured(value: int, unit: str) -> str:
    """Time or an amount of memory in words; of events how many."""
    if unit == "bytes":
        return amount(value)
    return duration(value) if unit == "ns" else f"{value:,}"


def brief(ns: float) -> str:
    """At most eight columns of it: a table has no room for 81 min 17 s."""
    said = duration(ns)
    if len(said) <= 8:
        return said
    minutes = ns / _MINUTE
    return f"{minutes:.0f} min" if minutes < 600 else f"{minutes / 60:.0f} h"


def amount(size: float) -> str:
    """Three digits of bytes and a unit: 12.3 MiB, 450 B."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{_three_digits(size)} {unit}"
        size /= 1024
    return f"{_three_digits(size)} TiB"


def percent(share: float, digits: int = 0) -> str:
    """0.423 is 42 %; what is there but rounds to nothing is said to be less."""
    least = 10.0**-digits
    if 0 < share * 100 < least / 2:
        return f"< {least:g} %"
    return f"{share * 100:.{digits}f} %"


def count(number: int, thing: str, things: str = "") -> str:
    """1 sample, 12,000 samples."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def some(names: Iterable[str]) -> str:
    """The different ones, as many as a sentence can bear."""
    different = list(dict.fromkeys(names))
    shown = ", ".join(different[:NAMES_IN_SENTENCE])
    rest = len(different) - NAMES_IN_SENTENCE
    return (shown or "none") + (f" and {rest} more" if rest > 0 else "")


def _three_digits(value: float) -> str:
    for digits, limit in ((2, 9.995), (1, 99.95)):
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"
