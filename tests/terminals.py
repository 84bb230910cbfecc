"""Commands on a terminal of their own, as a user has them in front of him."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyte

TIMEOUT_S = 60
CTRL_C = b"\x03"


class Terminal:
    """A command in a terminal, in a session and in the foreground of its own."""

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 100,
        rows: int = 24,
    ) -> None:
        self._ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.output = b""
        self._size = columns, rows
        self.process = subprocess.Popen(
            command,
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=cwd,
            env={"TERM": "xterm", **env},
            start_new_session=True,
            preexec_fn=_take_the_terminal,
        )
        os.close(its)

    def until(self, text: str, *, anew: bool = False) -> None:
        """Reads until the command has written this; `anew`: from now on."""
        end = time.monotonic() + TIMEOUT_S
        start = len(self.output) if anew else 0
        while text.encode() not in self.output[start:]:
            assert time.monotonic() < end, self.output.decode()
            assert self._read(1.0), self.output.decode()

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def ended(self) -> int:
        """The exit code, with all output read."""
        end = time.monotonic() + TIMEOUT_S
        while self._read(1.0):
            assert time.monotonic() < end, self.output.decode()
        code = self.process.wait(TIMEOUT_S)
        os.close(self._ours)
        return code

    def screen(self) -> list[str]:
        """What is to be seen, without the empty lines below it."""
        screen = pyte.Screen(*self._size)
        pyte.ByteStream(screen).feed(self.output)
        lines = [line.rstrip() for line in screen.display]
        while lines and not lines[-1]:
            del lines[-1]
        return lines

    def _read(self, seconds: float) -> bool:
        """False once nobody can write to the terminal any more."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:
            return False
        self.output += data
        return bool(data)


def _take_the_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # Tests may run in the background of a shell, where Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
