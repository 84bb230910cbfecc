"""Functions whose share of on-CPU time grew beyond a limit, as a sentence and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.model.group_comparison import COUNTED
from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from sonde.views.selecting.profile import Function
    from sonde.views.stacks.growth import Growth, GrowthRow

TOP = 20
"""Rows shown by default."""


def render(result: Growth, out: Console, *, top: int | None = None) -> None:
    limit = points(result.limit)
    grew = len({row.function for row in result.grew})
    paragraph(
        out,
        f"{count(grew, 'function')} grew by more than {limit} of on-CPU time."
        if grew
        else f"No function is known to have grown by more than {limit} of on-CPU time.",
    )
    paragraph(out, _compared(result))
    if result.grew:
        line(out)
        _table(result.grew, out, top or TOP)
    if result.undecided:
        line(out)
        undecided = len({row.function for row in result.undecided})
        paragraph(
            out,
            f"Too few samples to decide about {count(undecided, 'function')}, which grew by more "
            f"than the limit, but not significantly. {_advice(result)}",
        )
        _table(result.undecided, out, top or TOP)
    elif not result.tested:
        paragraph(
            out,
            f"Too few samples to decide: no function has {COUNTED} of them. {_advice(result)}",
        )
    if result.not_excluded:
        paragraph(
            out,
            f"Of {count(result.not_excluded, 'further function')} the confidence interval includes "
            f"a growth above the limit. {'' if result.undecided else _advice(result)}".rstrip(),
        )


def points(share: float) -> str:
    """A difference of shares: 5 points, 0.5 points."""
    figure = f"{share * 100:g}"
    return f"{figure} {'point' if figure == '1' else 'points'}"


def _compared(result: Growth) -> str:
    sides = [
        f"{count(runs, 'recording')} with {count(samples, 'sample')}"
        for runs, samples in (
            (result.base_runs, result.base_samples),
            (result.new_runs, result.new_samples),
        )
    ]
    said = f"Before: {sides[0]}; now: {sides[1]}."
    if result.compares_runs:
        return said
    return (
        f"{said} With one recording on a side, the test covers the sampling error only, not how "
        "much runs differ: give several recordings of each."
    )


def _advice(result: Growth) -> str:
    return (
        "Record more runs, or longer ones."
        if result.compares_runs
        else "Record longer, or several runs."
    )


def _table(rows: Sequence[GrowthRow], out: Console, top: int) -> None:
    header = (
        f"  {'time':<5}{'growth':>8}{'95 % interval':>17}{'base':>10}{'new':>10}{'samples':>20}"
    )
    line(out, (header, "bold"))
    by_function: dict[Function, list[GrowthRow]] = {}
    for row in rows[:top]:
        by_function.setdefault(row.function, []).append(row)
    for function, measured in by_function.items():
        line(out, labelled(function.name, function.file, function.line, out.width))
        for row in measured:
            line(
                out,
                f"  {row.measure:<5}",
                (f"{row.delta * 100:>+8.1f}", "red"),
                f"{_interval(row):>17}",
                f"{percent(row.verdict.base.mean, 1):>10}",
                f"{percent(row.verdict.new.mean, 1):>10}",
                f"{f'{row.base_samples:,} → {row.new_samples:,}':>20}",
            )
    if len(rows) > top:
        line(out, (f"  … {count(len(rows) - top, 'more row')}", "dim"))


def _interval(row: GrowthRow) -> str:
    if row.interval is None:
        return "–"
    low, high = (f"{end * 100:+.1f}" for end in row.interval)
    return f"{low} … {high}"
