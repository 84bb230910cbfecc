"""The recordings of a store, as a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.inventory import Inventory

TOP = 20


def render(result: Inventory, out: Console, *, top: int | None = None) -> None:
    line(out, (f"{'began (UTC)':<20}{'length':>9}{'samples':>12}  labels", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        began = datetime.fromtimestamp(row["start_ns"] / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
        labels = " ".join(f"{name}={value}" for name, value in row["labels"].items())
        line(out, f"{began:<20}{brief(row['duration_ns']):>9}{row['taken'] or 0:>12,}  {labels}")
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"… {count(left, 'more recording')}", "dim"))
