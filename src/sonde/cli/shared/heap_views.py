"""`sonde report FILE heap`: questions of a heap snapshot."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.shared.progress import working
from sonde.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.heap.graph import HeapGraph

Path = Annotated[
    str | None,
    typer.Option("--path", metavar="TYPE|ID", help="heap: show what keeps these objects alive."),
]
ALLOCATED_IN = "--allocated-in"
AllocatedIn = Annotated[
    str | None,
    typer.Option(
        ALLOCATED_IN,
        metavar="RECORDING",
        help="heap --path: show where this recording of the process sampled their allocation.",
    ),
]
Dominators = Annotated[
    bool, typer.Option("--dominators", help="heap: show what would be freed with what.")
]
Duplicates = Annotated[
    bool, typer.Option("--duplicates", help="heap: show equal values and nearly empty arrays.")
]
Find = Annotated[
    str | None,
    typer.Option(
        "--find",
        metavar="CONDITIONS",
        help="heap: show the objects that meet all of these, joined by commas: type=GLOB, "
        "attribute=NAME, text=GLOB, size>SIZE, retained>SIZE.",
    ),
]
VIEW = "heap"
_OPTIONS = ("files", "as_json", "top", "path", "dominators", "duplicates", "find", "allocated_in")


@dataclass(frozen=True)
class HeapQuestion:
    """What was asked for: at most one of these, the types if none."""

    path: str | None
    dominators: bool
    duplicates: bool
    find: str | None
    allocated_in: str | None = None
    """With a path: a recording of the process."""

    @property
    def options(self) -> list[str]:
        asked = {
            "--path": self.path is not None,
            "--dominators": self.dominators,
            "--duplicates": self.duplicates,
            "--find": self.find is not None,
        }
        return [option for option, given in asked.items() if given]


def is_heap(files: Sequence[str]) -> bool:
    """Whether one of them is a heap snapshot or a heap dump: a recording is never taken for one."""
    return any(os.path.isfile(file) and _is_one(file) for file in files)


def _is_one(path: str) -> bool:
    from sonde.heap.hprof.file import is_hprof
    from sonde.recording.read.column_reader import is_column_file

    return is_hprof(path) or is_column_file(path)


def _check_options(ctx: Any) -> None:
    """A heap is one moment: nothing that selects a part of a recording applies."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _OPTIONS:
            raise UsageError(f"{parameter.opts[0]} does not apply to heap")


def _check_heap(path: str) -> None:
    if not _is_one(path):
        raise UsageError(
            f"{path} has no heap; sonde reads heaps from its own snapshots and from hprof files"
        )


def opened(path: str) -> HeapGraph:
    from sonde.heap import hprof, snapshot_file
    from sonde.heap.graph import HeapGraph
    from sonde.heap.hprof.file import is_hprof

    _check_heap(path)
    return HeapGraph(hprof.read(path) if is_hprof(path) else snapshot_file.read(path))


def show(
    ctx: Any, files: Sequence[str], asked: HeapQuestion, top: int | None, *, as_json: bool
) -> None:
    if len(asked.options) > 1:
        raise UsageError(f"{asked.options[0]} and {asked.options[1]} cannot be combined")
    if len(files) != 1:
        raise UsageError("heap shows one file; compare two with: sonde heap diff BASE NEW")
    if asked.allocated_in is not None and asked.path is None:
        raise UsageError("--allocated-in shows where objects were allocated; give them by --path")
    path = files[0]
    _check_heap(path)
    _check_options(ctx)
    if asked.find is not None:
        from sonde.views.heap.search import parse_terms

        parse_terms(asked.find)  # before the file is read
    with working(f"reading {path}"):
        graph = opened(path)
        result, report, options = _answer(graph, asked, path, top)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.layout.page import console

    for warning in graph.snapshot.warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    report.render(result, console(), **options)


def _answer(
    graph: HeapGraph, asked: HeapQuestion, path: str, top: int | None
) -> tuple[Any, Any, dict[str, Any]]:
    """The view's result, its report, and how that is to be rendered."""
    if asked.path is not None:
        from sonde.reports.heap import heap_paths as of_paths
        from sonde.views.heap.paths import heap_paths

        recording = None
        if asked.allocated_in is not None:
            from sonde.recording.reader import read

            recording = read(asked.allocated_in)
        found = heap_paths(graph, asked.path, top=top, recording=recording)
        return found, of_paths, {}
    if asked.dominators:
        from sonde.reports.heap import heap_dominators as of_dominators
        from sonde.views.heap.dominators import dominators

        return dominators(graph, top=top), of_dominators, {"top": top}
    if asked.duplicates:
        from sonde.reports.heap import heap_duplicates as of_duplicates
        from sonde.views.heap.duplicates import duplicates

        return duplicates(graph, top=top or 20), of_duplicates, {"top": top}
    if asked.find is not None:
        from sonde.reports.heap import heap_search as of_search
        from sonde.views.heap.search import parse_terms, search

        return search(graph, parse_terms(asked.find), top=top), of_search, {}
    from sonde.reports.heap import heap as of_types
    from sonde.views.heap.types import heap_types

    return heap_types(graph, top=top), of_types, {"top": top, "path": path}
