"""A call stack on one line: where it is, and as many of its callers as there is room for."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from sonde.model.locks.lock_kinds import WRAPPERS, is_library, is_machinery
from sonde.reports.layout.names import ELLIPSIS, NAMELESS, clipped, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

CALLED_BY = " < "
BEGINNINGS = (
    "Thread._bootstrap", "Thread._bootstrap_inner", "_contextvars.Context.run",
    "java.lang.Thread.run", "java.lang.Thread.runWith",
)  # fmt: skip
"""What every thread begins with, and nobody wants to read."""


def program(frames: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames of a chain that are the program's own, innermost first.

    Left out are the C function it ends in, the machinery of locks below the program, and the
    beginning of a thread. If nothing is left, everything is.
    """
    kept = list(frames)
    while len(kept) > 1 and is_machinery(kept[-1]["name"], kept[-1]["file"]):
        kept.pop()
    if len(kept) > 1 and len(kept) < len(frames) and _is_wrapper(kept[-1]):
        kept.pop()
    kept.reverse()
    while len(kept) > 1 and kept[-1]["name"] in BEGINNINGS:
        kept.pop()
    return kept


def on_one_line(frames: Sequence[dict[str, Any]], width: int) -> str:
    """`query (shop.py:41) < serve < main`, within `width` columns.

    If the stack ends in a library the program's own frame comes first, as that distinguishes one
    stack from another: `report (shop.py:16), in Handler.handle`.
    """
    inner, *callers = program(frames)
    if is_library(inner["file"]):
        own = next((i for i, frame in enumerate(callers) if not is_library(frame["file"])), None)
        if own is not None:
            text = f"{spot(callers[own])}, in {printable(inner['name'])}"
            return text if cell_len(text) <= width else clipped(text, width)
    text = shortened(spot(inner), width)
    for i, frame in enumerate(callers):
        longer = f"{text}{CALLED_BY}{printable(frame['name'])}"
        # What follows must at least find room to say that it follows.
        room = width - (0 if i == len(callers) - 1 else len(CALLED_BY) + len(ELLIPSIS))
        if cell_len(longer) > room:
            more = f"{text}{CALLED_BY}{ELLIPSIS}"
            return more if cell_len(more) <= width else text
        text = longer
    return text


def spot(frame: dict[str, Any]) -> str:
    """A function and the line executed in it."""
    name, file = printable(frame["name"]), frame["file"]
    if not file or file.startswith("<") or not frame["line"]:
        return name
    path = PurePath(file)
    short = path.name
    if short in NAMELESS and path.parent.name:
        short = f"{path.parent.name}/{short}"
    return f"{name} ({printable(short)}:{frame['line']})"


def _is_wrapper(frame: dict[str, Any]) -> bool:
    owner, _, method = frame["name"].rpartition(".")
    return bool(owner) and method in WRAPPERS
