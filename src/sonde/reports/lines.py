"""The lines view as a table, with the source where it can still be read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from sonde.reports.names import clipped, place, printable
from sonde.reports.page import line
from sonde.views.words import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.lines import Lines

TOP = 20
"""Rows shown unless told."""

LARGEST_SOURCE = 8 << 20
_NUMBERS = 9 + 8 + 10 + 2


def render(
    result: Lines, out: Console, *, top: int | None = None, recorded: float | None = None
) -> None:
    """`recorded` is the time (since the epoch) the recording began: later source is not shown."""
    shown = result.rows[: top or TOP]
    places = [place(row.file, row.line, (out.width - _NUMBERS) // 2) for row in shown]
    room = max((len(text) for text in places), default=0)
    sources = Sources(recorded)
    line(out, (f"{'self':>9}{'':8}{'total':>10}  {'line':<{room}}  source", "bold"))
    for row, where in zip(shown, places, strict=True):
        share = percent(row.self_ns / result.total_ns, 1) if result.total_ns else ""
        line(
            out,
            f"{duration(row.self_ns):>9}",
            (f"{share:>8}", "cyan"),
            f"{duration(row.total_ns):>10}  {where:<{room}}  ",
            (clipped(sources.line(row.file, row.line), out.width - _NUMBERS - room - 2), "dim"),
        )
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more line')}", "dim"))


class Sources:
    """Source lines, as they were when recorded.

    The names come from the recording, so only what is surely a file of text is opened:
    a pipe would hang the report, and a file changed since would show wrong lines.
    """

    def __init__(self, recorded: float | None) -> None:
        self.recorded = recorded
        self.files: dict[str, list[str]] = {}

    def line(self, file: str, number: int) -> str:
        """The line without its indentation, empty where it cannot be had."""
        if file not in self.files:
            self.files[file] = self._read(file)
        lines = self.files[file]
        return printable(lines[number - 1].strip()) if 0 < number <= len(lines) else ""

    def _read(self, file: str) -> list[str]:
        try:
            opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return []
        try:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_SOURCE:
                return []
            if self.recorded is not None and status.st_mtime > self.recorded:
                return []
            with os.fdopen(opened, "rb", closefd=False) as source:
                return source.read().decode("utf-8", "replace").split("\n")
        finally:
            os.close(opened)
