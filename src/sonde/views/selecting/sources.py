"""Source lines of the target, as they were when recorded."""

from __future__ import annotations

import os
import stat

MAX_SOURCE_SIZE = 8 << 20


class Sources:
    """Reads each file once.

    The names come from the recording, so only what is surely a file of text is opened:
    a pipe would hang the report, and a file changed since would show wrong lines.
    """

    def __init__(self, recorded: float | None) -> None:
        """`recorded` is when the recording began (since the epoch): later source is not shown."""
        self.recorded = recorded
        self.files: dict[str, list[str]] = {}

    def line(self, file: str, number: int) -> str:
        """The line without its indentation, empty where it cannot be had."""
        lines = self._lines(file)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def text(self, file: str) -> str | None:
        """The whole file, None where it cannot be had."""
        lines = self._lines(file)
        return "\n".join(lines) if lines else None

    def _lines(self, file: str) -> list[str]:
        if file not in self.files:
            self.files[file] = self._read(file)
        return self.files[file]

    def _read(self, file: str) -> list[str]:
        try:
            opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return []
        try:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SOURCE_SIZE:
                return []
            if self.recorded is not None and status.st_mtime > self.recorded:
                return []
            with os.fdopen(opened, "rb", closefd=False) as source:
                return source.read().decode("utf-8", "replace").split("\n")
        finally:
            os.close(opened)
