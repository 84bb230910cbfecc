"""The socket at which people and programs steer a running session; commands.py says by what.

One JSON object a line in, one out: `{"do": "rate", "hz": 500}` is answered by `{"ok": true, …}` or
by `{"error": "a sentence", "code": 2}`. The socket lies in a folder that only the session's owner
can enter; the kernel, not the message, identifies the peer.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import struct
from typing import Any

from sonde.errors import SondeError, UsageError

from ...targets.session_registry import CONTROL
from .commands import Controllable, from_control

# A line is an order, not a document.
MAX_LINE_LENGTH = 1 << 16
MAX_CONNECTIONS = 32
# What somebody may leave unread before we hang up.
UNREAD = 1 << 18


class ControlServer:
    def __init__(
        self, folder: str, selector: selectors.BaseSelector, session: Controllable
    ) -> None:
        self._selector = selector
        self._session = session
        self._partial: dict[socket.socket, bytes] = {}
        self._leaving: list[socket.socket] = []
        """Who asked for the end, who gets an answer then."""
        self.path = os.path.join(folder, CONTROL)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        os.chmod(self.path, 0o600)
        self._listener.listen(8)
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ, ("control", self._listener))

    def ready(self, which: socket.socket) -> None:
        """Somebody comes, or says something."""
        if which is self._listener:
            self._accept()
        else:
            self._hear(which)

    def end(self, reported: dict[str, Any]) -> None:
        """The session is over: says so to who asked for it, and closes."""
        for connection in self._leaving:
            _say(connection, {"ok": True, **reported})
        for connection in list(self._partial):
            self._drop(connection)
        self._selector.unregister(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        _, uid, _ = struct.unpack("iII", credentials)
        if uid not in (os.getuid(), 0) or len(self._partial) >= MAX_CONNECTIONS:
            connection.close()
            return
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD)
        self._partial[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, ("control", connection))

    def _hear(self, connection: socket.socket) -> None:
        try:
            came = connection.recv(MAX_LINE_LENGTH)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        *lines, rest = (self._partial[connection] + came).split(b"\n")
        self._partial[connection] = rest
        for line in lines:
            answer = self._obey(connection, line)
            if answer is not None and not _say(connection, answer):
                came = b""
        if not came or len(rest) > MAX_LINE_LENGTH:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        self._partial.pop(connection)
        self._selector.unregister(connection)
        connection.close()

    def _obey(self, connection: socket.socket, line: bytes) -> dict[str, Any] | None:
        try:
            order = json.loads(line)
            if not isinstance(order, dict):
                raise UsageError("a request must be a JSON object")
            command, arguments = from_control(self._session, order)
            if command.ends:
                self._leaving.append(connection)
            answer = command.do(self._session, **arguments)
            return None if command.ends else {"ok": True, **(answer or {})}
        except SondeError as error:
            return {"error": str(error), "code": error.code}
        except OSError as error:
            return {"error": f"{error.filename or ''}: {error.strerror}".lstrip(": "), "code": 1}
        except (ValueError, RecursionError):
            return {"error": "a request must be a JSON object on one line", "code": 2}


def _say(connection: socket.socket, words: dict[str, Any]) -> bool:
    """False if it does not read what is sent: nobody else may wait for that."""
    data = json.dumps(words, default=str).encode() + b"\n"
    with contextlib.suppress(OSError):
        return connection.send(data) == len(data)
    return False
