"""The options of verbs that show the machine while it runs, and their rhythm."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from sonde.cli.shared.selection_options import length_of, seconds
from sonde.errors import UsageError

Every = Annotated[str, typer.Option("--every", metavar="S", help="Print a table every S seconds")]
For = Annotated[
    str | None,
    typer.Option(
        "--for",
        "-d",
        "--duration",
        metavar="TIME",
        help="Stop after TIME, such as 10 (seconds) or 5m [default: on Ctrl-C]",
    ),
]


def ticks(every: str, for_: str | None) -> Iterator[float]:
    """Sleeps from one table to the next, and gives the seconds that passed."""
    step, last = seconds("--every", every), length_of("--for", for_)
    if step is None or not 0.01 <= step < math.inf:
        raise UsageError(f"invalid --every {every!r}; give at least 0.01 seconds")
    return _ticks(step, last)


def _ticks(step: float, last: float | None) -> Iterator[float]:
    began = before = time.monotonic()
    end = math.inf if last is None else began + last
    while before < end:
        time.sleep(max(min(before + step, end) - time.monotonic(), 0))
        now = time.monotonic()
        yield now - before
        before = now
