"""How reports look on a terminal: colours, and a pager for long ones."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sonde.errors import UsageError, invalid

COLORS = ("auto", "always", "never")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What git gives less: end at once if all fits, keep colours, leave the text on the screen.
LESS = "FRX"


@dataclass
class Display:
    """What the command line says of it."""

    color: str = "auto"
    paged: bool = True


chosen = Display()


def reset() -> None:
    """For each command line; a process may run several."""
    if chosen.color != "auto":
        _apply("auto")
    chosen.color, chosen.paged = "auto", True


def set_color(when: str | None) -> None:
    if when is None:
        return
    if when not in COLORS:
        raise UsageError(invalid("--color", when, COLORS, "values"))
    chosen.color = when
    _apply(when)


def set_unpaged(unpaged: bool | None) -> None:
    if unpaged:
        chosen.paged = False


def _apply(when: str) -> None:
    # Only now: it imports the library that recording must not wait for.
    from sonde.reports.layout import page

    page.set_color(when)


@contextmanager
def paged() -> Iterator[None]:
    """What is printed inside goes through a pager if it is longer than the screen."""
    command = pager()
    if not chosen.paged or command is None or not sys.stdout.isatty():
        yield
        return
    real, captured = sys.stdout, _Captured(sys.stdout.encoding)
    sys.stdout = captured
    try:
        yield
    finally:
        sys.stdout = real
        _show(captured.getvalue(), command)


def pager() -> str | None:
    """As git chooses it; None: there is none, or the terminal is not made for one."""
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        return None
    for name in ("SONDE_PAGER", "PAGER"):
        command = os.environ.get(name)
        if command is not None:
            return command if command.strip() not in ("", "cat") else None
    return "less" if shutil.which("less") else None


class _Captured(io.StringIO):
    """Stands for the terminal, so that what is printed looks as it would there."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def _show(text: str, command: str) -> None:
    size = os.get_terminal_size(sys.stdout.fileno())
    if rows_of(text, size.columns) < size.lines:
        sys.stdout.write(text)
        return
    environment = {"LESS": LESS, "LV": "-c"} | os.environ
    sys.stdout.flush()
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    # Ctrl-C is for the pager, which we outlive.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with process.stdin as pipe:
            pipe.write(text.encode(sys.stdout.encoding, "replace"))
    except BrokenPipeError:
        pass  # the reader has seen enough, or there is no such pager
    finally:
        code = process.wait()
        signal.signal(signal.SIGINT, before)
    if code in (126, 127):  # as the shell says that it could not be run
        sys.stdout.write(text)


def rows_of(text: str, columns: int) -> int:
    """The rows of the screen that a text takes, with lines that are wrapped."""
    lines = _ESCAPE.sub("", text).split("\n")
    return sum(max(1, -(-len(line) // max(columns, 1))) for line in lines[:-1]) + bool(lines[-1])
