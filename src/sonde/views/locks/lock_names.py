"""Names of locks that a person understands: the source that takes them, and where it stands."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.views.selecting.sources import Sources

MAX_LENGTH = 60
NAMELESS = ("__init__.py", "__main__.py")
"""Files that say nothing without their folder."""

TAKING = frozenset(
    {
        "acquire", "__enter__", "wait", "wait_for", "get", "put", "join", "result", "exception",
        "shutdown", "map",
    }
)  # fmt: skip
"""Methods whose call is what a thread waits in."""
MAX_SOURCE_LENGTH = 400
"""Longer lines are not read for their meaning: they may be anything."""


@dataclass(frozen=True)
class LockSite:
    """Where a program takes or releases a lock."""

    function: str
    file: str
    line: int

    @property
    def short(self) -> str:
        """The file's own name and the line."""
        if not self.file or self.file.startswith("<"):
            return self.function
        return f"{_file_name(self.file)}:{self.line}"


# Ten thousand locks are taken at a few places: what a place reads like is found out once.
@lru_cache(maxsize=1024)
def _file_name(file: str) -> str:
    path = PurePath(file)
    if path.name in NAMELESS and path.parent.name:
        return f"{path.parent.name}/{path.name}"
    return path.name


class AcquireExpression(NamedTuple):
    """What of a source line takes a lock, and the lock itself as the program calls it."""

    expression: str
    thing: str


@lru_cache(maxsize=1024)
def parse_acquire(source: str) -> AcquireExpression:
    """`with self._lock` and self._lock; `queue.get(timeout=1)` and queue."""
    statements = _parsed(source)
    first = statements[0] if statements else None
    if isinstance(first, ast.With | ast.AsyncWith):
        things = ", ".join(ast.unparse(item.context_expr) for item in first.items)
        return AcquireExpression(_cut(f"with {things}"), _cut(things))
    for node in (node for statement in statements for node in ast.walk(statement)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in TAKING:
            return AcquireExpression(_cut(ast.unparse(node)), _cut(ast.unparse(called.value)))
    text = _cut(ast.unparse(first.iter) if isinstance(first, ast.For) else source.strip())
    return AcquireExpression(text, text)


def named(place: LockSite, sources: Sources, others: int = 0) -> tuple[str, str]:
    """How the lock taken at `place`, and at that many others, is called: in full, and in short."""
    if place.short == place.function:
        full = short = place.function or "unknown place"
    else:
        source = parse_acquire(sources.line(place.file, place.line))
        full = f"`{source.expression}`" if source.expression else place.function
        full = f"{full} in {place.short}"
        thing = source.thing
        if not thing or thing == "self":
            # What a method calls "self" has the name of its class outside.
            thing = place.function.rpartition(".")[0] if thing else place.function
        short = f"{thing or place.function} ({place.short})"
    if others:
        full += f" and {others} more place{'s' if others > 1 else ''}"
    return full, short


def _parsed(source: str) -> list[ast.stmt]:
    """The statements of a line; of one that goes on below, its beginning."""
    text = source.strip()[:MAX_SOURCE_LENGTH]
    if text.startswith("elif "):
        text = text[2:]
    for tail in ("", "\n pass"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text + tail).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1].rstrip() + "…"
