"""The connections that attached targets keep open: their end ends the session in the target."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from dataclasses import dataclass, field

from ...shm import layout as shm

# A target that does not let its GIL go in this time is left by its agent later.
LEAVE_S = 2.0


@dataclass
class AgentConnection:
    connection: socket.socket
    tid: int
    """Of the agent's own thread."""
    asked: set[int] = field(default_factory=set)


class AgentConnections:
    """By process id."""

    def __init__(self) -> None:
        self._all: dict[int, AgentConnection] = {}
        self.lost: dict[int, int] = {}
        """When the connection of a process ended without our doing."""
        self.left_behind = 0
        """Processes whose agent had not left when we stopped waiting for it."""

    def __contains__(self, pid: int) -> bool:
        return pid in self._all

    def add(self, pid: int, tid: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._all[pid] = AgentConnection(connection, tid)
        self.lost.pop(pid, None)

    def threads_of(self, pid: int) -> set[int]:
        """Threads of the process that are the agent's."""
        return {self._all[pid].tid} if pid in self._all else set()

    def hear(self, pid: int) -> int | None:
        """What a target said: an errno with which it could not start; None if nothing of that."""
        steered = self._all.get(pid)
        if steered is None:
            return None
        try:
            message = steered.connection.recv(shm.MESSAGE.size)
            magic, word, value, _ = shm.MESSAGE.unpack(message)
        except BlockingIOError:
            return None
        except Exception:  # it has exited, or is no agent
            self.drop(pid)
            self.lost[pid] = time.monotonic_ns()
            return None
        return int(value) if (magic, word) == (shm.MAGIC, shm.MSG_FAILED) else None

    def drop(self, pid: int) -> None:
        steered = self._all.pop(pid, None)
        if steered is not None:
            steered.connection.close()

    def fileno(self, pid: int) -> int:
        return self._all[pid].connection.fileno()

    def ask_names(self, pid: int, objects: set[int]) -> None:
        """Threads were started that nobody has named: once for each."""
        steered = self._all.get(pid)
        if steered is not None and objects - steered.asked:
            steered.asked |= objects
            _say(steered.connection, shm.MSG_NAMES)

    def end(self) -> None:
        """Orders every agent to detach, and waits until they have, but not for ever."""
        for steered in self._all.values():
            _say(steered.connection, shm.MSG_END)
        until = time.monotonic() + LEAVE_S
        while self._all and (left := until - time.monotonic()) > 0:
            by_number = {s.connection.fileno(): pid for pid, s in self._all.items()}
            ready = select.poll()
            for number in by_number:
                ready.register(number, select.POLLIN)
            for number, _ in ready.poll(left * 1000):
                self.hear(by_number[number])
        self.left_behind = sum(os.path.exists(f"/proc/{pid}") for pid in self._all)
        for pid in list(self._all):
            self.drop(pid)


def _say(connection: socket.socket, word: int) -> None:
    with contextlib.suppress(OSError):
        connection.send(shm.MESSAGE.pack(shm.MAGIC, word, 0, 0))
