"""`sonde heap`: the heap of a running process, and heaps compared."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sonde.cli.shared import heap_taking
from sonde.cli.shared.heap_views import opened
from sonde.cli.shared.progress import working
from sonde.cli.shared.recording_options import Force
from sonde.cli.shared.selection_options import PidOption, pid_of, whole

_TAKE = "take"


class HeapCommands(TyperGroup):
    """Whatever is no other command begins the arguments of the one that takes a heap."""

    @property
    def default_command(self) -> Any:
        return self.commands[_TAKE]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        asks_help = args and args[0] in ctx.help_option_names
        if args and args[0] not in self.commands and not asks_help:
            args = [_TAKE, *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """That of the command that takes a heap, and what other commands there are."""
        self.default_command.format_help(ctx, formatter)
        self.format_commands(ctx, formatter)


app = typer.Typer(
    cls=HeapCommands, no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@app.callback()
def heap() -> None:
    """Take a snapshot of all objects of a running program, or compare two snapshots."""


@app.command(_TAKE, hidden=True)
def take(
    pid: Annotated[
        str | None, typer.Argument(metavar="[PID]", help="A running program: CPython or a JVM.")
    ] = None,
    given: PidOption = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the snapshot to FILE [default: sonde-PROGRAM-PID-heap.sonde]",
        ),
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Take a snapshot of all objects of a running program, or compare two snapshots.

    CPython is stopped for the time of a fork, a JVM while it writes its objects. sonde prints how
    long.

    \b
    Examples:
      sonde heap 4711
      sonde heap 4711 -o before.sonde
      sonde heap diff before.sonde after.sonde
    """
    taken = heap_taking.take(pid_of(pid, given), output, force=force)
    if as_json:
        print(json.dumps(vars(taken), separators=(",", ":")))
    else:
        print(f"sonde: {heap_taking.sentence(taken)}", file=sys.stderr)


@app.command("diff")
def diff(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The snapshot to compare with.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The snapshot that was taken later.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the N greatest changes.")
    ] = None,
) -> None:
    """Show what a heap has more or less of than an earlier one, by type and holder.

    \b
    Examples:
      sonde heap diff before.sonde after.sonde
      sonde heap diff before.hprof after.sonde --top 5 --json
    """
    rows = whole("--top", top, "a number of rows")

    from sonde.views.heap.heap_diff import Held, difference, held

    warnings: list[str] = []

    def summed(path: str) -> Held:
        # One heap at a time: both together may not fit into memory.
        with working(f"reading {path}"):
            graph = opened(path)
            warnings.extend(graph.snapshot.warnings)
            return held(graph)

    result = difference(summed(base), summed(new), top=rows)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.heap import heap_diff as report
    from sonde.reports.layout.page import console

    for warning in warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    report.render(result, console(), top=rows)
