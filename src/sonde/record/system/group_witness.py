"""Whether a POSIX signal was sent to our whole process group: the target then has it already.

The kernel describes both kinds alike. So a child in our group blocks the signals in question and
looks, when asked, whether it has one pending.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterable

# A supervisor may send a signal to one process after the other.
_LATER_S = 0.02
# One that does not answer is stopped, or has ended.
_ANSWER_S = 1.0


class GroupWitness:
    """A child process that lives until `end()`, or until we do not."""

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        ours, its = socket.socketpair()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        self._pid = os.fork()
        if self._pid == 0:
            _watch(its.detach())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        its.close()
        ours.settimeout(_ANSWER_S)
        self._socket = ours

    def saw(self, number: int) -> bool | None:
        """Whether it got this signal, too; each is reported once. None: it does not answer."""
        try:
            self._socket.send(bytes([number]))
            if answer := self._socket.recv(1):
                return answer == b"\1"
        except OSError:
            pass
        # A late answer would be taken for that to the next question.
        self._socket.close()
        return None

    def end(self) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def _watch(fd: int) -> None:
    """In the child, which holds nothing of its parent's that others could wait for."""
    try:
        os.closerange(0, fd)
        os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
        while question := os.read(fd, 1):
            info = signal.sigtimedwait(question, _LATER_S)
            os.write(fd, bytes([info is not None]))
    finally:
        os._exit(0)
