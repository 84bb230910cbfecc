"""The magics `%%sonde` and `%sonde_attach`."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Any, NoReturn

from IPython.core.error import UsageError

from sonde.errors import SondeError
from sonde.record.session import Session

from .cell_profile import CellProfile

DEFAULT_SECONDS = "10"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


def load(shell: Any) -> None:
    magics = Magics(shell)
    shell.register_magic_function(magics.sonde, magic_kind="cell", magic_name="sonde")
    shell.register_magic_function(magics.attach, magic_kind="line", magic_name="sonde_attach")


class Magics:
    def __init__(self, shell: Any) -> None:
        self._shell = shell
        # Recordings that nobody wants to keep end with the kernel.
        self._folder = tempfile.TemporaryDirectory(prefix="sonde-notebook-")
        self._count = 0

    def sonde(self, line: str, cell: str) -> CellProfile:
        """Record this cell, and show where its time went.

        %%sonde [-o FILE] [--what LIST] [--rate HZ] [--top N] [--no-view]
        """
        parser = _parser("%%sonde")
        options = _parsed(parser, line)
        if _needs_running_loop(self._shell, cell):
            raise UsageError(
                "%%sonde: a cell with await at its top level cannot be recorded here; "
                "write `with sonde.record(FILE):` around the statement instead"
            )
        path = options.output or self._new_path()
        asked = {"what": options.what, "rate": options.rate}
        session = _in_words(
            lambda: Session(path, **{k: v for k, v in asked.items() if v is not None})
        )
        _in_words(session.start)
        try:
            result = self._shell.run_cell(cell)
        finally:
            _in_words(session.stop)
        profile = CellProfile(path, top=options.top, view=not options.no_view)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            from IPython.display import display

            display(profile)
            # Its traceback has been shown; the cell has failed all the same.
            sentence = f"{type(error).__name__}: {error}"
            error._render_traceback_ = lambda: [sentence]
            raise error
        return profile

    def attach(self, line: str) -> CellProfile:
        """Record a running process, and show where its time went.

        %sonde_attach PID [--for SECONDS] [-o FILE] [--what LIST] [--rate HZ] [--top N] [--no-view]
        """
        parser = _parser("%sonde_attach")
        parser.add_argument("pid")
        parser.add_argument("--for", dest="seconds", default=DEFAULT_SECONDS, metavar="SECONDS")
        options = _parsed(parser, line)
        path = options.output or self._new_path()
        command = ["attach", options.pid, "-o", path, "--for", options.seconds]
        if options.what is not None:
            command += ["--what", options.what]
        if options.rate is not None:
            command += ["--rate", str(options.rate)]
        _run(command)
        return CellProfile(path, top=options.top, view=not options.no_view)

    def _new_path(self) -> str:
        self._count += 1
        return os.path.join(self._folder.name, f"cell-{self._count}.sonde")


def _needs_running_loop(shell: Any, cell: str) -> bool:
    """Whether it awaits at its top level in an event loop that runs this very function."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    transformed = shell.transform_cell(cell)
    return bool(shell.should_run_async(cell, transformed_cell=transformed))


def _parser(name: str) -> _Parser:
    parser = _Parser(prog=name, add_help=False, allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--what", metavar="LIST")
    parser.add_argument("--rate", type=_whole, metavar="HZ")
    parser.add_argument("--top", type=_whole, metavar="N")
    parser.add_argument("--no-view", action="store_true")
    return parser


def _parsed(parser: _Parser, line: str) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{parser.prog}: {error}") from None
    return parser.parse_args(words)


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"invalid number {text!r}; give a whole number above 0")
    return int(text)


def _in_words(do: Any) -> Any:
    """What IPython shows as one sentence if it fails."""
    try:
        return do()
    except (SondeError, OSError) as error:
        raise UsageError(f"sonde: {error}") from None


def _run(command: list[str]) -> None:
    """`sonde COMMAND`; an interrupt of the kernel ends it, and keeps what it has recorded."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sonde", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Interrupts of the kernel go to its whole group; this one is signalled below.
        start_new_session=True,
    )
    try:
        _, said = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    if process.returncode:
        lines = said.strip().splitlines()
        raise UsageError(lines[-1] if lines else "sonde attach failed")
