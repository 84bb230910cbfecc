"""The target processes of one session: who they are, that they live, and what they leave."""

from __future__ import annotations

import os
import selectors
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..system import exit_status
from ..targets import session_registry
from .sampling.quality_counts import QualityCounts

if TYPE_CHECKING:
    from sonde.recording.write.writer import Writer

    from ..decode.target import TargetProcess
    from ..system.procfs import About


class TargetSet:
    def __init__(
        self, selector: selectors.BaseSelector, folder: str, writer: Writer, config: dict[str, Any]
    ) -> None:
        self._selector = selector
        self._folder = folder
        self._writer = writer
        self._what: list[str] = sorted(config["what"])
        self._targets: list[TargetProcess] = []
        self._pidfds: dict[int, int] = {}
        self.tally = QualityCounts(config["rate"])
        self._pids: dict[int, About] = {}
        self._changed = False

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
        self._pids[target.pid] = target.about
        self._changed = True

    def add_ended(self, pid: int, about: About) -> None:
        """One that was over before we looked at it, and has nothing to be drained."""
        self._pids[pid] = about
        self.tally.short_processes += 1

    def about(self, pid: int) -> About | None:
        """Of a process that was ever recorded."""
        return self._pids.get(pid)

    def drop(self, target: TargetProcess, exit_: str | None) -> None:
        """A process that is over: its last records, then its memory goes."""
        self._targets.remove(target)
        self._changed = True
        target.finish(ended=True, exit_=exit_)
        self.tally.add(target)
        target.close()

    def set_capture(self, what: list[str]) -> None:
        """Something else than at the beginning."""
        self._what = sorted(what)
        self.announce()

    def watch(self, pid: int) -> None:
        """The selector is to report its end, as its number."""
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
            how = exit_status.of(pid, fd)
            self._selector.unregister(fd)
            os.close(fd)
        for target in self.of(pid):
            self.drop(target, how)

    def disarm(self) -> None:
        for target in self._targets:
            if target.armed is not None:
                target.armed.close()

    def facts(self, more: dict[str, int], *, whole: bool = False) -> dict[str, Any]:
        """What the session says about itself, in this segment or as a whole."""
        return self.tally.facts(self._targets, more, whole=whole)

    def announce_changes(self) -> None:
        """Once for all that came and went since the last time."""
        if self._changed:
            self.announce()

    def announce(self) -> None:
        self._changed = False
        pids = [target.pid for target in self._targets]
        session_registry.announce(self._folder, self._writer.path, pids, self._what)
