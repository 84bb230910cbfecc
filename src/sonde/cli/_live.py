"""The options of verbs that show the machine while it runs, and their rhythm."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from sonde.cli._select import seconds
from sonde.errors import UsageError

Every = Annotated[str, typer.Option("--every", metavar="S", help="Seconds between two tables.")]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="S", help="End after this many seconds; else on Ctrl-C."),
]


def ticks(every: str, for_: str | None) -> Iterator[float]:
    """Sleeps from one table to the next, and gives the seconds that passed."""
    step, last = seconds("--every", every), seconds("--for", for_)
    if step is None or not 0.01 <= step < math.inf:
        raise UsageError(f"--every takes a time from 0.01 seconds on, not {every!r}")
    if last is not None and not 0 < last < math.inf:
        raise UsageError(f"--for takes a time in seconds, not {for_!r}")
    return _ticks(step, last)


def _ticks(step: float, last: float | None) -> Iterator[float]:
    began = before = time.monotonic()
    end = math.inf if last is None else began + last
    while before < end:
        time.sleep(max(min(before + step, end) - time.monotonic(), 0))
        now = time.monotonic()
        yield now - before
        before = now
