"""The socket at which agents introduce themselves, in a folder that nobody else can enter."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from dataclasses import dataclass
from typing import Any

from sonde.errors import SondeError

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


def listen_for_target(place: dict[str, Any] | None) -> AgentSocket:
    """As `listen`, with a sentence about what is missing."""
    try:
        return listen(place)
    except OSError as error:
        needs = "; run sonde as the target's user, or as root with CAP_CHOWN and CAP_DAC_OVERRIDE"
        raise SondeError(
            f"cannot make a socket that the target can reach: {error.filename}: "
            f"{(error.strerror or str(error)).lower()}{needs if place else ''}"
        ) from error


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
        try:
            os.chown(seen, place["uid"], place["gid"])
            os.chown(path, place["uid"], place["gid"])
        except OSError:
            listener.close()
            shutil.rmtree(seen, ignore_errors=True)
            raise
    return AgentSocket(seen, path.removeprefix(root), listener)
