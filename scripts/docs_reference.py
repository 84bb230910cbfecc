"""Pages of the documentation site that are generated from the code: options and the Python API."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import typer
from typer.main import get_command

from sonde.cli.main import app
from sonde.opened import OpenedRecording


def verbs() -> dict[str, str]:
    """The options of each verb as Markdown, below headings of the second level."""
    group: Any = get_command(app)
    ctx = typer.Context(group, info_name="sonde")
    return {name: _verb(group.get_command(ctx, name), ctx) for name in group.list_commands(ctx)}


def first_sentences() -> dict[str, str]:
    """What each verb does, in its own words."""
    group: Any = get_command(app)
    ctx = typer.Context(group, info_name="sonde")
    return {
        name: _paragraphs(group.get_command(ctx, name).help)[0] for name in group.list_commands(ctx)
    }


def _verb(command: Any, parent: typer.Context) -> str:
    ctx = typer.Context(command, info_name=command.name, parent=parent)
    subcommands = getattr(command, "commands", {})
    if not subcommands:
        return f"## All options\n\n{_usage(command, ctx)}"
    parts = [f"## sonde {command.name} {name}\n\n{_described(sub, ctx)}" for name, sub in
             subcommands.items()]  # fmt: skip
    return "\n".join(parts)


def _described(command: Any, parent: typer.Context) -> str:
    ctx = typer.Context(command, info_name=command.name, parent=parent)
    paragraphs = [text for text in _paragraphs(command.help) if not _is_example(text)]
    return "\n\n".join([*paragraphs, _usage(command, ctx)])


def _usage(command: Any, ctx: typer.Context) -> str:
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    rows = [record for param in command.get_params(ctx) if (record := param.get_help_record(ctx))]
    table = "".join(f"| {_code(names)} | {_cell(text)} |\n" for names, text in rows if text)
    return f"```\n{usage}\n```\n\n| | |\n|---|---|\n{table}"


def _code(names: str) -> str:
    return "`` " + names.replace("|", "\\|") + " ``"


def _cell(text: str) -> str:
    """A line of help in a table of Markdown: options and placeholders are code."""
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    text = re.sub(r"\[(default: [^\]]*)\]", r"(\1)", text).replace("[", "\\[")
    return re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)", r"`\1`", text)


def _paragraphs(text: str | None) -> list[str]:
    blocks = inspect.cleandoc(text or "").replace("\b", "").split("\n\n")
    return [block.strip("\n") for block in blocks if block.strip()]


def _is_example(paragraph: str) -> bool:
    return paragraph.lstrip().startswith("Example")


def python_api() -> str:
    """The public calls, a recording's views, and what those return."""
    results = sorted(_results(), key=lambda cls: (cls.__module__, cls.__qualname__))
    parts = [
        "# Python API: every call",
        "Generated from the code. [The Python API](api.md) is the introduction.",
        "## Recording",
        "`sonde.record(...)` returns a session:",
        _directive("autoclass", "sonde.record.session.Session", "members", "undoc-members"),
        "## From inside a recorded program",
        *(_directive("autofunction", f"sonde._inside.{name}") for name in
          ("mark", "pause", "resume")),
        _directive("autoclass", "sonde._inside.span"),
        "## Reading a recording",
        _directive("autofunction", "sonde.open"),
        _directive("autoclass", "sonde.opened.OpenedRecording", "members", "undoc-members"),
        "## Errors",
        _directive("automodule", "sonde.errors", "members"),
        "## What the views return",
        *(_directive("autoclass", f"{cls.__module__}.{cls.__qualname__}", "members",
                     "undoc-members", exclude="to_json") for cls in results),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _directive(kind: str, name: str, *flags: str, exclude: str = "") -> str:
    options = [f":{flag}:" for flag in flags]
    if exclude:
        options.append(f":exclude-members: {exclude}")
    body = "\n".join([f".. {kind}:: {name}", *(f"   {option}" for option in options)])
    return f"```{{eval-rst}}\n{body}\n```"


def _results() -> set[type[Any]]:
    """The classes of sonde.views that a view returns, and those of their fields."""
    found: set[type[Any]] = set()
    pending: list[Any] = []
    for _, method in inspect.getmembers(OpenedRecording, inspect.isfunction):
        pending += _classes(method.__annotations__.get("return"), OpenedRecording)
    while pending:
        cls = pending.pop()
        if cls in found:
            continue
        found.add(cls)
        for field in dataclasses.fields(cls):
            pending += _classes(field.type, cls)
    return found


def _classes(annotation: Any, user: type[Any]) -> Iterator[type[Any]]:
    """The dataclasses of sonde that an annotation names."""
    names = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    module = sys.modules[user.__module__]
    for name in re.findall(r"\b[A-Z]\w+", names):
        cls = getattr(module, name, None) or _imported_for_types(module, name)
        if inspect.isclass(cls) and dataclasses.is_dataclass(cls):
            yield typing.cast("type[Any]", cls)


def _imported_for_types(module: ModuleType, name: str) -> Any:
    """What a module imports below `if TYPE_CHECKING:`."""
    match = re.search(rf"^\s+from (sonde[\w.]+) import [^\n]*\b{name}\b", inspect.getsource(module),
                      re.MULTILINE)  # fmt: skip
    return getattr(importlib.import_module(match[1]), name, None) if match else None
