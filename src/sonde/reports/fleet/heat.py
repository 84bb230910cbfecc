"""When which hosts were busy, as a map of characters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import duration

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.heat import Heat

TOP = 30
_NAME = 20
_TOTAL = 10
_LEVELS = " ▁▂▃▄▅▆▇█"


def render(result: Heat, out: Console, *, top: int | None = None) -> None:
    rows = result.rows[: top or TOP]
    # As many columns of the map in one of the page as it takes for all to fit.
    room = max(out.width - _NAME - _TOTAL - 2, 1)
    joined = max(-(-result.columns // room), 1)
    cells = [
        [sum(row.cells[i : i + joined]) for i in range(0, result.columns, joined)] for row in rows
    ]
    most = max((max(one, default=0) for one in cells), default=0)
    if not most:
        line(out, "These recordings have no such time.")
        return
    step = result.step_ns * joined
    paragraph(
        out,
        f"From {_told(result.begin_ns)} UTC, {duration(step)} per column; "
        f"{_LEVELS[-1]} is {most / step:.2f} threads.",
    )
    line(out)
    line(out, (f"{result.by:<{_NAME}}{'time':>{_TOTAL}}", "bold"))
    for row, one in zip(rows, cells, strict=True):
        name = "(none)" if row.value is None else row.value
        drawn = "".join(_LEVELS[-(-8 * ns // most)] for ns in one)
        line(out, f"{name[: _NAME - 1]:<{_NAME}}{duration(row.total):>{_TOTAL}}  {drawn}")
    left = len(result.rows) - len(rows) + result.more_rows
    if left:
        line(out, (f"and {left} more", "dim"))


def _told(ns: int) -> str:
    when = datetime.fromtimestamp(ns // 10**9, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S")
