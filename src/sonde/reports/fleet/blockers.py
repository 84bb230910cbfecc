"""Who keeps a fleet waiting, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.waits import Blockers

TOP = 20
_NUMBERS = 10 + 8 + 9 + 11 + 7 + 2


def render(result: Blockers, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, "No thread waited for a lock or for the GIL.")
        return
    head = f"{'waited':>10}{'':8}{'waits':>9}{'processes':>11}{'hosts':>7}  held by"
    line(out, (head, "bold"))
    for row in result.rows[: top or TOP]:
        function = row.function
        width = out.width - _NUMBERS
        line(
            out,
            f"{brief(row.wait_ns):>10}",
            (f"{percent(row.wait_ns / max(result.total_ns, 1), 1):>8}", "cyan"),
            f"{row.count:>9,}{row.processes:>11,}{row.hosts:>7,}  ",
            labelled(function["name"], function["file"], function["line"], width)
            if function
            else "unknown holder",
        )
        line(out, (f"{'':{_NUMBERS}}{row.lock}", "dim"))
    left = len(result.rows) - len(result.rows[: top or TOP])
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more')}", "dim"))
