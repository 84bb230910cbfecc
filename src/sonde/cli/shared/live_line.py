"""One line on the terminal that shows how far a recording is.

It is drawn only while none of the recorded processes can write to that terminal: nobody could say
when a program writes next, and its text would land in the line, or be followed by the rest of it.
So it shows while `attach` records a program of another terminal, and under `run` only for programs
whose output goes elsewhere. A process that opens the terminal later ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any

from sonde.errors import SondeError
from sonde.record.system.procfs import name_of, threads_of

STEP_S = 1.0
END_S = 2.0
"""How long the recorder may take to answer when the recording is over."""
MAX_FILES = 64
"""Descriptors of a process that are looked at; a terminal has one of the first."""
MAX_NAMED = 100
"""Threads of a process whose names are read."""
CONTROLLING_TERMINAL = os.makedev(5, 0)
ERASE = "\r\x1b[K"


class LiveLine:
    """While it is entered, a thread asks the recorder for its status and draws the line."""

    def __init__(
        self,
        recorder: Callable[[], int],
        ends: str,
        also: Callable[[], Collection[int]] = tuple,
    ) -> None:
        """`recorder` has its PID, `ends` says how the recording ends; `also`: other processes that
        write where the recorded ones do."""
        self._recorder = recorder
        self._ends = ends
        self._also = also
        self._over = threading.Event()
        self._drawing = threading.Lock()
        self._drawn = False
        self._thread = threading.Thread(target=self._run, name="live line", daemon=True)

    def __enter__(self) -> LiveLine:
        if can_redraw(sys.stderr):
            # The thread inherits the mask: signals are for the one that records.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                self._thread.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(END_S)
        with self._drawing:
            self._erase()

    def say(self, words: str) -> None:
        """A message between two states of the line."""
        with self._drawing:
            self._erase()
            print(f"sonde: {words}", file=sys.stderr)

    def _run(self) -> None:
        from sonde.record.control_client import ControlClient

        while not self._over.wait(STEP_S):
            if any(map(may_write_here, self._also())):
                continue  # the recorder need not be asked for what is not shown
            with (
                contextlib.suppress(SondeError, OSError),
                ControlClient(self._control()) as orders,
            ):
                while not self._over.is_set():
                    self._show(orders.give({"do": "status"}))
                    self._over.wait(STEP_S)

    def _control(self) -> str:
        from sonde.record.targets import session_registry

        pid = self._recorder()
        for session in session_registry.running():
            if session.recorder == pid:
                return session.control
        raise SondeError("the recorder is not ready")

    def _show(self, status: dict[str, Any]) -> None:
        processes = status["processes"]
        writers = {*processes, *self._also()}
        free = processes and in_foreground() and not any(map(may_write_here, writers))
        with self._drawing:
            if self._over.is_set() or not free:
                self._erase()
                return
            text = f"sonde: {words_of(status)}; {self._ends}"
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            sys.stderr.write(f"{ERASE}{text[: max(width - 1, 0)]}")
            sys.stderr.flush()
            self._drawn = True

    def _erase(self) -> None:
        if self._drawn and in_foreground():
            sys.stderr.write(ERASE)
            sys.stderr.flush()
        self._drawn = False


def words_of(status: dict[str, Any]) -> str:
    """Time, samples, threads and size of a recording under way."""
    from sonde.units import size_words

    processes = status["processes"]
    threads = sum(_threads(pid) for pid in processes)
    parts = [
        f"{status['duration_ns'] / 1e9:.0f} s",
        _count(status["quality"].get("taken") or 0, "sample"),
        _count(threads, "thread"),
    ]
    if len(processes) > 1:
        parts.append(f"{len(processes)} processes")
    parts.append(size_words(status["size"]))
    if status["state"] != "recording":
        parts.append(status["state"])
    return ", ".join(parts)


def _threads(pid: int) -> int:
    """Without those of sonde's agent; where there are many, one more is no matter."""
    threads = threads_of(pid)
    if len(threads) > MAX_NAMED:
        return len(threads)
    return sum(not name_of(pid, tid).startswith("sonde-") for tid in threads)


def can_redraw(stream: Any) -> bool:
    """Whether it is a terminal that can wipe a line."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def in_foreground() -> bool:
    """Whether the terminal is ours at the moment, and not that of the shell that started us."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:
        return False


def may_write_here(pid: int) -> bool:
    """Whether a process has our terminal open, other than to read from it as its stdin.

    Where that cannot be seen, it may.
    """
    ours = os.fstat(sys.stderr.fileno()).st_rdev
    try:
        files = sorted(map(int, os.listdir(f"/proc/{pid}/fd")))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    for file in files[:MAX_FILES]:
        with contextlib.suppress(OSError):
            facts = os.stat(f"/proc/{pid}/fd/{file}")
            terminal = stat.S_ISCHR(facts.st_mode) and facts.st_rdev in (ours, CONTROLLING_TERMINAL)
            if file and terminal:
                return True
    return False


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
