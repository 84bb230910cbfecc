"""`sonde doctor`: what works on this machine, and why not more."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from sonde.cli.shared.progress import working
from sonde.errors import UsageError
from sonde.record.system import native_libraries


def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    java_api: Annotated[
        bool,
        typer.Option("--java-api", help="Print the path of sonde-api.jar only, for a class path."),
    ] = False,
    c_include: Annotated[
        bool,
        typer.Option("--c-include", help="Print the folder of sonde.h only, for a C compiler."),
    ] = False,
) -> None:
    """Check what sonde can record on this machine.

    Shows the best sampler available, and what prevents a better one. sonde records each interpreter
    it finds for a moment. Also lists the settings that apply in the working directory. The exit
    code is 0 if sonde could record at least one interpreter, else 1.

    \b
    Examples:
      sonde doctor
      sonde doctor --json
      javac -cp "$(sonde doctor --java-api)" Shop.java
    """
    if java_api or c_include:
        _print_path(java_api, c_include, as_json)
        return
    from sonde.cli.shared.default_options import in_use
    from sonde.doctor.diagnosis import diagnose

    with working("recording each interpreter for a moment"):
        result = diagnose()
    assert ctx.parent is not None
    verbs: Any = ctx.parent.command
    settings = in_use(verbs.list_commands(ctx), lambda verb: verbs.get_command(ctx, verb))
    if as_json:
        json.dump(
            result.to_json() | {"settings": settings.to_json()},
            sys.stdout,
            indent=2,
            ensure_ascii=False,
        )
        sys.stdout.write("\n")
    else:
        from sonde.reports import settings as settings_report
        from sonde.reports.doctor import render
        from sonde.reports.layout.page import console

        out = console()
        render(result, out)
        settings_report.render(settings, out)
    if not result.can_record:
        raise typer.Exit(1)


def _print_path(java_api: bool, c_include: bool, as_json: bool) -> None:
    if java_api + c_include + as_json > 1:
        raise UsageError("--java-api, --c-include and --json exclude each other; give one")
    print(native_libraries.java_api() if java_api else native_libraries.c_include())
