"""A table of prepared lines: a title that stays, and rows that scroll below it.

Textual's own table measures and styles every cell; this draws only the lines that are seen, since
the watching must not cost what is worth watching.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sonde.reports.live.process import Parts


class Rows(ScrollView, can_focus=True):
    """Arrow keys, page keys, home and end move it, as Textual has them for whatever scrolls."""

    DEFAULT_CSS = """
    Rows { height: 1fr; min-height: 3; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    class Resized(Message):
        """There is room for other lines."""

    def __init__(self, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._title: Parts = []
        self._rows: list[Parts] = []

    @property
    def room(self) -> int:
        """Columns a row may have; the scroll bar's is always left free."""
        return max(self.outer_size.width - 1, 20)

    @property
    def lines(self) -> list[str]:
        """What it holds, as plain text; the title first."""
        return ["".join(_texts(parts)) for parts in (self._title, *self._rows)]

    def on_resize(self) -> None:
        self.post_message(self.Resized())

    def show(self, title: Parts, rows: list[Parts]) -> None:
        if title == self._title and rows == self._rows:
            return
        self._title, self._rows = title, rows
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        if y == 0:
            # The marker shows which table the keys mean, also without colours.
            style = base + Style(reverse=self.has_focus, underline=not self.has_focus)
            return _strip([("".join(_texts(self._title)), "bold")], style, width)
        row = self.scroll_offset.y + y - 1
        return _strip(self._rows[row] if row < len(self._rows) else [], base, width)


def _texts(parts: Parts) -> list[str]:
    return [part if isinstance(part, str) else part[0] for part in parts]


def _strip(parts: Parts, base: Style, width: int) -> Strip:
    segments = [
        Segment(part, base)
        if isinstance(part, str)
        else Segment(part[0], base + Style.parse(part[1] or "none"))
        for part in parts
    ]
    return Strip(segments).adjust_cell_length(width, base)


def as_text(lines: list[Parts]) -> Text:
    """Lines for a widget that takes text."""
    return Text("\n").join(Text.assemble(*parts) for parts in lines)
