"""`sonde diff --fail-over`: fails where functions grew, for continuous integration."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import typer

from sonde.cli.shared.progress import working
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.views.selecting.selection import Selection

GREW = 3
"""The exit code where a function grew: 1 and 2 say that there is no answer."""


def limit_of(text: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*%?", text.strip())
    if found is None or float(found[1]) >= 100:
        raise UsageError(
            f"invalid --fail-over {text!r}; give points of on-CPU time below 100, such as 5%"
        )
    return float(found[1]) / 100


def compare_runs(
    base: str,
    new: str,
    limit: float,
    selection: Selection,
    *,
    skip_startup: bool,
    top: int | None,
    as_json: bool,
) -> None:
    """Print what grew; ends with exit code 3 if something did."""
    from sonde.views.selecting.start_up import after_start_up
    from sonde.views.stacks.chained_samples import open_runs
    from sonde.views.stacks.growth import growth

    with working(f"reading {base} and {new}"):
        sides = [
            [
                (run, after_start_up(run, selection) if skip_startup else selection)
                for run in open_runs(name)
            ]
            for name in (base, new)
        ]
        result = growth(sides[0], sides[1], limit)
    if as_json:
        print(json.dumps(result.to_json(top), separators=(",", ":")))
    else:
        from sonde.reports.layout.page import console
        from sonde.reports.stacks.growth import render

        for run, _ in sides[0] + sides[1]:
            for warning in run.warnings:
                print(f"sonde: {warning}", file=sys.stderr)
        render(result, console(), top=top)
    if result.grew:
        raise typer.Exit(GREW)


def growth_of(text: str) -> float:
    """The growth of a function that is allowed: 0.05 for 5 %."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*%?", text.strip())
    if found is None:
        raise UsageError(
            f"invalid --fail-over {text!r}; give the growth that a function may have, such as 5%"
        )
    return float(found[1]) / 100


def compare_flow(
    base: str,
    new: str,
    fail_over: str | None,
    selection: Selection,
    *,
    top: int | None,
    as_json: bool,
) -> None:
    """Print what functions took in both; ends with exit code 3 if one grew by more than allowed."""
    limit = None if fail_over is None else growth_of(fail_over)
    from sonde.views.flow.flow_diff import flow_diff
    from sonde.views.stacks.chained_samples import open_recording

    with working(f"reading {base} and {new}"):
        before, after = open_recording(base), open_recording(new)
        result = flow_diff(before, after, selection, limit=limit, top=top)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
    else:
        from sonde.reports.flow.flow_diff import render
        from sonde.reports.layout.page import console

        for warning in before.warnings + after.warnings:
            print(f"sonde: {warning}", file=sys.stderr)
        render(result, console(), top=top)
    if result.grew:
        raise typer.Exit(GREW)
