"""`sonde heap`: heap dumps compared."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from sonde.cli.shared.heap_views import opened
from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import whole

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.callback()
def heap() -> None:
    """Compare heap dumps: which objects are new, and who holds them.

    \b
    Example:
      sonde heap diff before.hprof after.hprof
    """


@app.command("diff")
def diff(
    base: Annotated[str, typer.Argument(help="The heap dump to compare with.")],
    new: Annotated[str, typer.Argument(help="The heap dump that was taken later.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the N greatest changes.")
    ] = None,
) -> None:
    """Show what a heap has more or less of than an earlier one, by type and holder.

    \b
    Examples:
      sonde heap diff before.hprof after.hprof
      sonde heap diff before.hprof after.hprof --top 5 --json
    """
    rows = whole("--top", top, "a number of rows")

    from sonde.views.heap.heap_diff import heap_diff

    with working(f"reading {base} and {new}"):
        graphs = [opened(path) for path in (base, new)]
        result = heap_diff(graphs[0], graphs[1], top=rows)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.heap import heap_diff as report
    from sonde.reports.layout.page import console

    for graph in graphs:
        for warning in graph.snapshot.warnings:
            print(f"sonde: {warning}", file=sys.stderr)
    report.render(result, console(), top=rows)
