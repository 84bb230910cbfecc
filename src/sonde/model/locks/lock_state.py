"""What the replay knows of one lock: who waits, who released it, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from sonde.model.locks.contention import UNKNOWN, Ints


@dataclass(slots=True)
class StartedWait:
    start: int
    context: int
    first: int
    clean: bool = False
    again_of: int | None = None
    """The contention that began this wait, if it is not this one."""
    before: bool = False
    found: bool = False
    """Its thread will not report its end."""
    known: int | None = None
    """When it was last seen waiting, should its end be among what was lost since."""


@dataclass(slots=True)
class LockState:
    """Where the replay of one lock stands."""

    next: int | None = None
    """The number that comes next."""
    from_birth: bool = False
    """The first number seen was the first there is."""
    pending: list[Ints] = field(default_factory=list)
    open: dict[int, StartedWait] = field(default_factory=dict)
    last: int = 0
    """Time of the last event."""
    gap: bool = False
    """Something was lost since the last release ..."""
    torn: bool = False
    """... or at any time."""
    released: bool = False
    """It was released since the last one got it."""
    reported: tuple[int, int] = (UNKNOWN, 0)
    """Who last reported a release, and when."""
    owner: tuple[int, int] | None = None
    """Who certainly holds it, as a waiter would have seen the release."""
    woken: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Threads woken up that have not released it since: their contention, its context, and when."""
    alone: int = 0
    """When nobody waited for the last time."""
    base: int = 0
    """How many releases were forgotten, because nobody waits any more who waited through them."""
    since: list[int] = field(default_factory=list)
    until: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    context: list[int] = field(default_factory=list)
    gaps: list[bool] = field(default_factory=list)
    by_process: dict[int, int] = field(default_factory=dict)
    """Of a lock between processes: each one's last number."""

    def lost(self) -> None:
        self.gap = self.torn = True
        self.owner = None
        for wait in self.open.values():
            if wait.known is None:
                wait.known = self.last
