"""Recordings for other tools: one file per format, listed here.

A format's module has `SUFFIX`, the ending of its files, `TEXT`, whether people can read
them, `MEMORY` if it has a unit for bytes, and `write(recording, selection, out)`. One that makes a
folder of files has `FOLDER` and `write_folder(recording, folder)` instead, and is always of the
whole recording.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from sonde.errors import UsageError, invalid

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

FORMATS = (
    "collapsed",
    "speedscope",
    "pprof",
    "callgrind",
    "firefox",
    "perfetto",
    "otlp",
    "parquet",
)


class Format(Protocol):
    """What a format's module offers."""

    SUFFIX: str
    TEXT: bool

    def write(self, recording: Recording, selection: Selection, out: BinaryIO) -> None: ...


def format_named(name: str) -> Format:
    """The format of this name, imported only now."""
    if name not in FORMATS:
        raise UsageError(invalid("format", name, FORMATS, "formats"))
    return cast("Format", importlib.import_module(f"sonde.exports.{name}"))
