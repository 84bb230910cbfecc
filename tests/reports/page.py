"""What a person sees: the text of a report at a given width, as in a pipe."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.cells import cell_len

from sonde.reports.layout.page import console

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console


def printed(render: Callable[[Console], None], width: int = 80) -> list[str]:
    """The lines printed; none is wider than the page, ends in blanks or has colour in it.

    Commands to copy are never cut, so these may be wider.
    """
    out = io.StringIO()
    render(console(out, width))
    text = out.getvalue()
    assert "\x1b" not in text
    lines = text.split("\n")
    assert lines.pop() == ""
    for line in lines:
        assert cell_len(line) <= width or "sonde report " in line, line
    return [line.rstrip() for line in lines]
