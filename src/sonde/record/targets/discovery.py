"""Which processes belong to a session: those it was given, what they start, those of a name.

New ones are noticed by looking. How the kernel's last process id has changed shows for a few
microseconds whether there is anything to look at; notifications (netlink, fanotify) would need
privileges, and a library put into the environment of what a target executes would be seen there.
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from sonde.errors import SondeError, UsageError

from ..system.procfs import is_alive, words_of
from . import lineage
from .hotspot import Jvm, is_up
from .process import NotRecordable, RunningProcess, inspect_process
from .session_registry import RECORDER

# Python takes longer than this to come up, so little of a child is missed.
MIN_INTERVAL_S = 0.02
MAX_INTERVAL_S = 0.25
SOON_S = 0.005
# Of one core at most this share is spent on looking.
SHARE = 0.01
# So long a program is expected to come up, or a shell to execute one; later it is looked at less.
YOUNG_S = 1.0
SELDOM_S = 1.0
# A fork of a process that has an agent introduces itself, before it runs a line. On a busy machine
# that takes a while, and nobody may stop it meanwhile.
INTRODUCES_S = 2.0
# The time a process was born at is exact to 10 ms.
BIRTH_S = 0.02

Matches = Callable[[str], bool]


def matcher(pattern: str) -> Matches:
    """The meaning of --name: a glob found anywhere in the command line, or a /regex/."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            return re.compile(pattern[1:-1]).search  # type: ignore[return-value]
        except re.error as error:
            raise UsageError(
                f"--name {pattern} is an invalid regular expression: {error}"
            ) from None
    if not pattern.strip("* "):
        raise UsageError("--name is empty; give a glob or a /regex/ that matches a command line")
    return re.compile(fnmatch.translate(f"*{pattern}*")).match  # type: ignore[return-value]


def callers() -> set[int]:
    """The processes that run this very command, such as `timeout 60 sonde attach --name app`.

    Their command lines have the pattern in them, too.
    """
    found: set[int] = set()
    pid = lineage.parent_of(os.getpid())
    while pid > 1 and "--name" in (line := " ".join(words_of(pid))):
        if "attach" in line:
            found.add(pid)
        pid = lineage.parent_of(pid)
    return found


@dataclass
class PendingProcess:
    """A process that belongs to the session and is not recorded yet."""

    since: float
    """When its program was first seen."""
    image: bytes | None = None
    next_look: float = 0.0
    why_not: str | None = None


class Discovery:
    """Looks for processes to enter; `members` are all that belong, whatever they run."""

    def __init__(
        self,
        roots: Iterable[int],
        *,
        matches: Matches | None = None,
        children: bool = True,
        descendants: bool = False,
        but: Collection[int] = (),
    ) -> None:
        self._matches = matches
        self._children = children
        self._descendants = descendants
        self._but = {os.getpid(), *but}
        self._callers = callers() if matches is not None else set()
        self._seen: set[int] = set()
        self._last_pid = -1
        self._next_match = 0.0
        self._candidates: dict[int, PendingProcess] = {}
        self._entered: dict[int, float] = {}
        self.members: set[int] = set(roots)
        self.wait = MIN_INTERVAL_S
        """How long not to look again."""
        if not descendants:
            # What is there already does not belong.
            self._seen = _processes()
        for pid in self.members:
            self.again(pid)

    def again(self, pid: int) -> None:
        """Its program was replaced, or it was not recorded so far: it is to be entered."""
        self.members.add(pid)
        self._entered.pop(pid, None)
        self._candidates[pid] = PendingProcess(time.monotonic())

    def leave(self, *pids: int) -> None:
        """Processes of ours that are never to be recorded."""
        self._but.update(pids)

    def entered(self, pid: int) -> None:
        self.members.add(pid)
        self._candidates.pop(pid, None)
        self._entered.setdefault(pid, time.monotonic())

    def exited(self, pid: int) -> None:
        self.members.discard(pid)
        self._candidates.pop(pid, None)
        self._entered.pop(pid, None)

    def give_up(self, pid: int) -> None:
        """It cannot be entered, unless it executes another program."""
        if pid in self._candidates:
            self._candidates[pid].next_look = math.inf

    @property
    def is_over(self) -> bool:
        """Whether nobody is left, and nobody will come."""
        self.members = {pid for pid in self.members if is_alive(pid)}
        return self._matches is None and not self.members

    def look(self, inside: Collection[int], room: int = 64) -> list[RunningProcess]:
        """Those that are to be entered now; `inside` are recorded already or about to be."""
        began, cpu = time.monotonic(), time.thread_time()
        self._notice(began)
        spent = time.thread_time() - cpu
        self.wait = min(max(MIN_INTERVAL_S, spent / SHARE), MAX_INTERVAL_S)
        found: list[RunningProcess] = []
        for pid, candidate in list(self._candidates.items()):
            if pid in inside or len(found) == room:
                continue
            process = self._ready(pid, candidate, began)
            if process is not None:
                found.append(process)
        if any(began - c.since < YOUNG_S for c in self._candidates.values()):
            self.wait = SOON_S  # a program comes up, or a fork is about to execute one
        return found

    def refused(self) -> dict[int, str]:
        """Why those are not recorded that could be but for a reason."""
        return {pid: c.why_not for pid, c in self._candidates.items() if c.why_not}

    # ---- noticing

    def _notice(self, now: float) -> None:
        last = _last_pid()
        if last != self._last_pid:
            self._last_pid = last
            here = _processes()
            new = here - self._seen - self._but - self.members
            self._seen = here
            self.members &= here
            if self._children:
                self._take_children(new)
        if self._matches is not None and now >= self._next_match:
            self._take_matching()
            # A command line changes when a program is executed, which the process id does not show.
            self._next_match = now + 5 * self.wait
        for pid in self._candidates.keys() - self.members:
            del self._candidates[pid]
        for pid in [pid for pid in self._candidates if not os.path.exists(f"/proc/{pid}")]:
            del self._candidates[pid]
            self.members.discard(pid)

    def _take_children(self, new: set[int]) -> None:
        parents = {pid: lineage.parent_of(pid) for pid in new}
        found = True
        while found:  # a child's child may have the lower number
            found = False
            for pid, parent in list(parents.items()):
                if parent in self.members:
                    self.again(pid)
                    del parents[pid]
                    found = True

    def _take_matching(self) -> None:
        assert self._matches is not None
        own = os.geteuid()
        others = _processes() - self.members - self._but
        for pid in others:
            try:
                if os.stat(f"/proc/{pid}").st_uid != own:
                    continue
            except OSError:
                continue
            line = " ".join(words_of(pid))
            # Recorders have in their command line what they record.
            if self._matches(line) and RECORDER not in line and pid not in self._callers:
                self.again(pid)
        if self._descendants and self._children and others & self.members:
            self._take_children(others - self.members)

    # ---- is it one to enter?

    def _ready(self, pid: int, candidate: PendingProcess, now: float) -> RunningProcess | None:
        image = lineage.image_of(pid)
        if image != candidate.image:
            candidate.image, candidate.since, candidate.next_look = image, now, now
            candidate.why_not = None
        if now < candidate.next_look:
            return None
        young = now - candidate.since < YOUNG_S
        candidate.next_look = now if young else now + SELDOM_S
        parent = lineage.parent_of(pid)
        if image is not None and image == lineage.image_of(parent):
            introduces = self._entered.get(parent, math.inf) < now - lineage.age_of(pid) - BIRTH_S
            if introduces and now - candidate.since < INTRODUCES_S:
                return None
            if lineage.borrows_memory(pid, parent):
                return None
        try:
            process = inspect_process(pid)
        except NotRecordable:
            return None
        except SondeError as error:
            candidate.why_not = str(error)
            return None
        if isinstance(process.runtime, Jvm) and not is_up(pid):
            return None
        return process


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name[0].isdigit()}


def _last_pid() -> int:
    """The number that the kernel gave last to a process or thread."""
    try:
        with open("/proc/loadavg", "rb") as f:
            return int(f.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return -1
