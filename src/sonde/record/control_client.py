"""Giving orders to a running session: finding its socket, and asking over it."""

from __future__ import annotations

import json
import os
import socket
from types import TracebackType
from typing import Any

from sonde.errors import SondeError, UsageError

from .targets import session_registry

# The end of a session waits for its agents to leave and for the file; nothing else takes long.
ANSWER_S = 40.0


def socket_of(which: str) -> str:
    """The control socket of a session, named by it or by a process that is recorded."""
    if not which:
        raise UsageError("no session given; give a PID or the path of its socket")
    if not which.isdecimal():
        return which
    pid = int(which)
    for session in session_registry.running():
        if pid in session.pids or pid == session.recorder:
            return session.control
    if not os.path.exists(f"/proc/{pid}"):
        raise SondeError(f"no process {pid}")
    raise SondeError(
        f"process {pid} is not being recorded by you; record it with: sonde attach {pid}"
    )


class ControlClient:
    """A connection to a session."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise SondeError(_refusal(path, error)) from None
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()
        self._socket.close()

    def give(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer; an error if the session refuses, or is over."""
        try:
            self._socket.sendall(json.dumps(order).encode() + b"\n")
            line = self._lines.readline()
        except TimeoutError:
            raise SondeError(f"the session at {self._path} does not respond") from None
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            raise SondeError(f"the session at {self._path} is over, or belongs to another user")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise (UsageError if answer.get("code") == UsageError.code else SondeError)(
                answer["error"]
            )
        return answer


def _refusal(path: str, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"the session at {path} belongs to another user"
    if isinstance(error, FileNotFoundError):
        return f"no session at {path}"
    if isinstance(error, ConnectionRefusedError):
        return f"the session at {path} is over, or {path} is not the socket of a session"
    return f"cannot connect to {path}: {(error.strerror or str(error)).lower()}"
