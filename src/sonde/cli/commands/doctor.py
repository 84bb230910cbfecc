"""`sonde doctor`: what works on this machine, and why not more."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from sonde.cli.shared.progress import working


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check what sonde can record on this machine.

    Shows the best sampler available, and what prevents a better one. sonde records each interpreter
    it finds for a moment. The exit code is 0 if it could record at least one, else 1.

    \b
    Examples:
      sonde doctor
      sonde doctor --json
    """
    from sonde.doctor.diagnosis import diagnose

    with working("recording each interpreter for a moment"):
        result = diagnose()
    if as_json:
        json.dump(result.to_json(), sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        from sonde.reports.doctor import render
        from sonde.reports.layout.page import console

        render(result, console())
    if not result.can_record:
        raise typer.Exit(1)
