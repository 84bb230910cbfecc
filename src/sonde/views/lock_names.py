"""Names of locks that a person understands: the source that takes them, and where it stands."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.views.sources import Sources

LONGEST = 60
NAMELESS = ("__init__.py", "__main__.py")
"""Files that say nothing without their folder."""

TAKING = frozenset(
    {
        "acquire", "__enter__", "wait", "wait_for", "get", "put", "join", "result", "exception",
        "shutdown", "map",
    }
)  # fmt: skip
"""Methods whose call is what a thread waits in."""
LONGEST_SOURCE = 400
"""Longer lines are not read for their meaning: they may be anything."""


@dataclass(frozen=True)
class Place:
    """Where a program takes or lets go of a lock."""

    function: str
    file: str
    line: int

    @property
    def short(self) -> str:
        """The file's own name and the line."""
        if not self.file or self.file.startswith("<"):
            return self.function
        path = PurePath(self.file)
        name = path.name
        if name in NAMELESS and path.parent.name:
            name = f"{path.parent.name}/{name}"
        return f"{name}:{self.line}"


def expression(source: str) -> str:
    """What of a source line takes the lock: `with self._lock`, `queue.get(timeout=1)`."""
    statements = _parsed(source)
    first = statements[0] if statements else None
    if isinstance(first, ast.With | ast.AsyncWith):
        return _cut("with " + ", ".join(ast.unparse(item.context_expr) for item in first.items))
    for statement in statements:
        for node in ast.walk(statement):
            if _takes(node):
                return _cut(ast.unparse(node))
    if isinstance(first, ast.For):
        return _cut(ast.unparse(first.iter))
    return _cut(source.strip())


def _takes(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TAKING
    )


def name(place: Place, sources: Sources, others: int = 0) -> str:
    """How the lock taken at `place`, and at that many others, is called."""
    if place.short == place.function:
        said = place.function or "unknown place"
    else:
        taken = expression(sources.line(place.file, place.line)) or place.function
        said = f"{taken} in {place.short}"
    if others:
        said += f" and {others} more place{'s' if others > 1 else ''}"
    return said


def _parsed(source: str) -> list[ast.stmt]:
    """The statements of a line; of one that goes on below, its beginning."""
    text = source.strip()[:LONGEST_SOURCE]
    if text.startswith("elif "):
        text = text[2:]
    for tail in ("", " pass"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text + tail).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
