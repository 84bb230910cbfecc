"""Thread ids of a target that numbers them otherwise than we do: it may live in a container."""

from __future__ import annotations

import os

from . import layout as shm


class ThreadIds:
    """From the ids a process knows its threads by to those we know them by."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ours: dict[int, int] = {}
        self._differ = _inner(f"/proc/{pid}/status") not in (0, pid)

    def ours(self, tid: int) -> int:
        if not self._differ or tid == shm.NOTES_TID:
            return tid
        known = self._ours.get(tid)
        # An id may have been given to another thread since.
        if known is not None and os.path.exists(f"/proc/{self._pid}/task/{known}"):
            return known
        self._look()
        return self._ours.get(tid, known if known is not None else tid)

    def _look(self) -> None:
        try:
            names = os.listdir(f"/proc/{self._pid}/task")
        except OSError:
            return
        for name in names:
            inner = _inner(f"/proc/{self._pid}/task/{name}/status")
            if inner:
                self._ours[inner] = int(name)


def _inner(path: str) -> int:
    """The id in the innermost namespace; 0 if the kernel does not report it."""
    try:
        with open(path, errors="replace") as f:
            for line in f:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except (OSError, ValueError):
        pass
    return 0
