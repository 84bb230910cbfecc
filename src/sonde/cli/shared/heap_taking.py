"""Takes a heap snapshot for a command, and says how it went."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from sonde.cli.shared.closing_message import typed
from sonde.cli.shared.output_files import check_new, check_writable
from sonde.cli.shared.progress import working
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.heap.capture import Captured


def take(pid: int, output: str | None, *, force: bool = False) -> Captured:
    """The heap of process `pid` in a file; one that sonde names itself is new."""
    if output is None and force:
        raise UsageError("--force needs -o FILE")
    if output is not None:
        check_new(output, force)
    from sonde.heap.capture import capture
    from sonde.record.targets.process import inspect_process

    process = inspect_process(pid, recorded=True)
    path = output or _new_name(f"sonde-{process.program}-{pid}-heap")
    check_writable(path)
    with working(f"taking a heap snapshot of process {pid}"):
        return capture(process, path)


def sentence(taken: Captured) -> str:
    words = f"took a snapshot of {taken.objects:,} objects"
    if taken.pause_ns is not None:
        words += f", and the program was stopped for {_ms(taken.pause_ns)} ms"
    return f"{words}; show them with: sonde report {typed(taken.path)}"


def _ms(ns: int) -> str:
    ms = ns / 1e6
    return f"{ms:,.0f}" if ms >= 10 else f"{ms:.1f}"


def _new_name(stem: str) -> str:
    """A file that there is not yet."""
    names = (f"{stem}-{number}" if number > 1 else stem for number in itertools.count(1))
    return next(f"{name}.sonde" for name in names if not os.path.exists(f"{name}.sonde"))
