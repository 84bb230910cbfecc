"""The socket at which agents introduce themselves, in a folder that nobody else can enter."""

from __future__ import annotations

import os
import socket
import tempfile
from typing import Any

from . import sessions

# Connections that may wait for the recorder; the kernel has a limit of its own (somaxconn). Forked
# children do not wait for it: whoever finds no room is not recorded.
BACKLOG = 4096


def listen(place: dict[str, Any] | None) -> tuple[str, str, socket.socket]:
    """The session's folder, the path that agents are told, and the socket that listens there."""
    place = place or {}
    # A target may have another view of the file system than we: there it is, from here.
    root: str = place.get("root", "")
    folder = place.get("folder") or sessions.folder_for_sockets() or tempfile.gettempdir()
    seen = tempfile.mkdtemp(prefix=sessions.PREFIX, dir=root + folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.path.join(seen, "agent")
    listener.bind(path)
    listener.listen(BACKLOG)
    if "uid" in place:  # root's own, else
        os.chown(seen, place["uid"], place["gid"])
        os.chown(path, place["uid"], place["gid"])
    return seen, path.removeprefix(root), listener
