"""The segment of a recording that one process's rows are written into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.recording.write.writer import Writer


@dataclass
class ProcessSegment:
    """Which process it is, and what its rows and times in the present segment count from."""

    pid: int
    runtime: str
    writer: Writer
    origin: int
    """The time that the segment's times count from."""
    boundary: int = 0
    """When the segment followed another one; 0 in the first."""
    row: int = -1
    """Of the process."""
