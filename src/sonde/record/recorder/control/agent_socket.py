"""The socket at which agents introduce themselves, in a folder that nobody else can enter."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import dataclass
from typing import Any

from ...targets import session_registry

# Connections that may wait for the recorder; the kernel has a limit of its own (somaxconn). Forked
# children do not wait for it: whoever finds no room is not recorded.
BACKLOG = 4096


@dataclass(frozen=True)
class AgentSocket:
    """Where agents introduce themselves."""

    folder: str
    path: str
    """That agents get."""
    listener: socket.socket

    def fileno(self) -> int:
        return self.listener.fileno()

    def close(self) -> None:
        self.listener.close()

    def to_config(self) -> dict[str, Any]:
        return {"folder": self.folder, "path": self.path, "fd": self.fileno()}

    @classmethod
    def inherited(cls, config: dict[str, Any]) -> AgentSocket:
        """Made by whoever started us."""
        return cls(config["folder"], config["path"], socket.socket(fileno=config["fd"]))


def listen(place: dict[str, Any] | None = None) -> AgentSocket:
    """Makes the session's folder and the socket in it."""
    place = place or {}
    # A target may have another view of the file system than we: there it is, from here.
    root: str = place.get("root", "")
    folder = place.get("folder") or session_registry.folder_for_sockets() or tempfile.gettempdir()
    seen = tempfile.mkdtemp(prefix=session_registry.PREFIX, dir=root + folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.path.join(seen, "agent")
    listener.bind(path)
    listener.listen(BACKLOG)
    if "uid" in place:  # root's own, else
        os.chown(seen, place["uid"], place["gid"])
        os.chown(path, place["uid"], place["gid"])
    return AgentSocket(seen, path.removeprefix(root), listener)
