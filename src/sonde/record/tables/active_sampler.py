"""What samples a process: the interface of every sampler, and which one a process has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..shm import layout as shm


class ActiveSampler(Protocol):
    """Samples one process until it is closed; the same for every way of sampling."""

    sampler: str
    """Its name."""
    why_not_better: str | None
    wait_signals: bool
    """Threads report each wait themselves."""
    events: list[int]
    """Descriptors of its perf events."""
    why_no_events: str | None
    baseline: dict[int, tuple[int, int]]
    """Per thread that lived before: the time it was armed and its CPU time then."""

    @property
    def code(self) -> int:
        """The agent's number of it."""

    def close(self) -> None: ...

    def close_event(self, which: int) -> None:
        """Only the kernel event with that number."""


@dataclass
class Sampling:
    """How one process is sampled at the moment."""

    runtime: str
    armed: ActiveSampler | None = None
    polls_waits: bool = False
    """Waits are seen from outside only, not reported by the threads themselves."""

    def marks_activations(self) -> bool:
        """Whether its threads can state which frames are the same as in their last samples."""
        by_perf = self.armed is not None and self.armed.code == shm.SAMPLER_PERF
        return self.runtime == "cpython" and by_perf
