"""What all text reports share: the console, headings, bars."""

from __future__ import annotations

import re
import textwrap
from typing import IO, Any

from rich.console import Console
from rich.text import Text

NARROWEST = 40
_FIGURE = re.compile(r"(\d) (%|h\b|min\b|[mµn]?s\b)")
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class _Page(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process; whoever called us knows what to do."""
        raise BrokenPipeError


_color = "auto"


def set_color(when: str) -> None:
    """Whether text has colours: `auto` (on a terminal), `always` or `never`."""
    global _color  # noqa: PLW0603
    _color = when


def console(
    file: IO[str] | None = None, width: int | None = None, *, styled: bool | None = None
) -> Console:
    """A console that takes text as it is; in a pipe it is 80 columns wide and without colour.

    `styled`: whether with colour, whatever the environment asks for.
    """
    asked: dict[str, Any] = {}
    if styled is None and _color == "always":
        styled, asked = True, {"color_system": "256", "no_color": False}
    elif styled is None and _color == "never":
        asked = {"color_system": None}
    # In a notebook Rich would display what is meant for the file.
    made = _Page(
        file=file, width=width, highlight=False, markup=False, emoji=False, force_jupyter=False,
        force_terminal=styled, **asked,
    )  # fmt: skip
    made.width = max(made.width, NARROWEST)
    return made


def heading(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def line(out: Console, *parts: str | tuple[str, str]) -> None:
    """One line of the page, cut off rather than wrapped should it be too long after all."""
    out.print(Text.assemble(*parts), no_wrap=True, overflow="ellipsis", crop=True)


def command(out: Console, text: str, *, indent: int = 0) -> None:
    """A command to copy: in one line, however long."""
    out.print(Text(" " * indent + text, style="dim"), soft_wrap=True)


def paragraph(out: Console, text: str, *, indent: int = 0, hanging: int = 0) -> None:
    """Words, wrapped at the page's width; a figure keeps its unit beside it."""
    glued = _FIGURE.sub("\\1\u00a0\\2", text)
    width = max(out.width - indent, NARROWEST // 2)
    for row in textwrap.wrap(glued, width, subsequent_indent=" " * hanging):
        line(out, " " * indent + row.replace("\u00a0", " "))


def bar(share: float, width: int, *, waiting: bool = False) -> str:
    """A bar in eighths of a column; waiting time is shown by texture, not by colour."""
    share = min(max(share, 0.0), 1.0)
    if waiting:
        return ("░" * max(round(share * width), 1 if share else 0)).ljust(width)
    whole, part = divmod(round(share * width * 8), 8)
    return ("█" * whole + (_EIGHTHS[part] if part else "")).ljust(width)
