"""The target processes of one session: who they are, that they live, and what they leave."""

from __future__ import annotations

import os
import selectors
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import exits, sessions
from .tally import Tally

if TYPE_CHECKING:
    from sonde.recording.writer import Writer

    from .target import TargetProcess


class Roster:
    def __init__(
        self, selector: selectors.BaseSelector, folder: str, writer: Writer, config: dict[str, Any]
    ) -> None:
        self._selector = selector
        self._folder = folder
        self._writer = writer
        self._what: list[str] = sorted(config["what"])
        self._targets: list[TargetProcess] = []
        self._pidfds: dict[int, int] = {}
        self.tally = Tally(config["rate"])
        self._pids: set[int] = set()

    @property
    def many(self) -> int:
        """Processes that were ever recorded."""
        return len(self._pids)

    def __iter__(self) -> Iterator[TargetProcess]:
        return iter(list(self._targets))

    def of(self, pid: int) -> list[TargetProcess]:
        return [target for target in self._targets if target.pid == pid]

    def add(self, target: TargetProcess) -> None:
        self._targets.append(target)
        self._pids.add(target.pid)
        self.announce()

    def drop(self, target: TargetProcess, exit_: str | None) -> None:
        """A process that is over: its last records, then its memory goes."""
        self._targets.remove(target)
        self.announce()
        target.finish(ended=True, exit_=exit_)
        self.tally.add(target)
        target.close()

    def captures(self, what: list[str]) -> None:
        """Something else than at the beginning."""
        self._what = sorted(what)
        self.announce()

    def watch(self, pid: int) -> None:
        """Its end is to be told by the selector, as its number."""
        if pid in self._pidfds:
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return
        self._pidfds[pid] = fd
        self._selector.register(fd, selectors.EVENT_READ, pid)

    def watches(self, pid: int) -> bool:
        return pid in self._pidfds

    def exited(self, pid: int) -> None:
        fd = self._pidfds.pop(pid, None)
        how = None
        if fd is not None:
            how = exits.of(pid, fd)
            self._selector.unregister(fd)
            os.close(fd)
        for target in self.of(pid):
            self.drop(target, how)

    def disarm(self) -> None:
        for target in self._targets:
            if target.armed is not None:
                target.armed.close()

    def facts(self, more: dict[str, int], *, whole: bool = False) -> dict[str, Any]:
        """What the session says about itself, in this part or as a whole."""
        return self.tally.facts(self._targets, more, whole=whole)

    def announce(self) -> None:
        pids = [target.pid for target in self._targets]
        sessions.announce(self._folder, self._writer.path, pids, self._what)
