"""The three lines at the end of a recording: top function, top blocker, quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import place, printable
from sonde.row_values import BUILT_IN
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from sonde.views.headline import Headline
    from sonde.views.selecting.profile import Function

PLACE = 40
"""Columns for a file and line."""


def lines(result: Headline) -> list[str]:
    return [
        f"top function: {_top(result)}",
        f"top blocker: {_blocker(result)}",
        f"quality: {_quality(result)}",
    ]


def _top(result: Headline) -> str:
    top = result.function
    if top is None:
        return "none of the program's own code was sampled"
    return f"{_named(top.function)}, {percent(top.share)} of the CPU time"


def _blocker(result: Headline) -> str:
    if not result.locks_recorded:
        return "locks were not recorded; record them with --what +locks"
    blocker = result.blocker
    if blocker is None:
        return "none; threads hardly waited for locks or the GIL"
    what = "the GIL" if blocker.kind == "gil" else "a lock"
    who = "an unknown function" if blocker.function is None else _named(blocker.function)
    return f"{who} held {what}, others waited {duration(blocker.wait_ns)}"


def _quality(result: Headline) -> str:
    points = f"±{100 * result.margin:.1f} points"
    known = f"{count(result.samples, 'CPU sample')}, a share of 50 % is accurate to {points}"
    if result.problem is not None:
        return f"{known}; {printable(result.problem.title)}: {result.problem.advice}"
    return f"{known}; no problems found"


def _named(function: Function) -> str:
    name = printable(function.name)
    if not function.file or function.file == BUILT_IN:
        return name
    return f"{name} ({place(function.file, function.line, PLACE)})"
