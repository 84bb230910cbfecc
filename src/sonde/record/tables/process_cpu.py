"""The CPU time of one process: what samples stand for, and what none does.

A thread's first tick comes after a full period: one that lives for less is never sampled. Its time
must not vanish without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.procfs import process_cpu

if TYPE_CHECKING:
    from collections.abc import Callable


class ProcessCpu:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.samples = self.sampled = 0
        """Of running code: how many there were, and what they stand for."""
        self._before = self._turned = process_cpu(pid)
        """What it had used when that began to count, and at the last turn."""
        # Of this segment, as are all numbers that become rows at its end.
        self._unsampled = self._sampled_before = 0
        self._unsampled_before = 0

    def begin(self, before: int | None = None) -> None:
        """What the process used until now, to be entered, is nobody's to be sampled.

        `before`: what it had used when it armed itself.
        """
        self._before = process_cpu(self._pid) if before is None else before

    def account_until(self, *, counted: bool) -> None:
        """Something else is captured from now on; `counted`: until now CPU time was."""
        used = process_cpu(self._pid)
        if not counted:
            self._before += max(used - self._turned, 0)
        self._turned = used

    def used(self, reader_ns: int) -> int:
        """In this segment, but for the agent's own thread."""
        return process_cpu(self._pid) - self._before - reader_ns

    def compare(self, used: int, untold: int, known: Callable[[], int]) -> None:
        """What was used with what samples stand for.

        `untold` is what need not have been sampled yet. `known`, asked for only if that is not
        enough, shows what known threads have used since they were last heard of: one that exits
        gets no more ticks but gives back much memory yet.
        """
        if used <= 0:
            return
        self._unsampled = used - (self.sampled - self._sampled_before) - untold
        if self.unsampled:
            self._unsampled -= known()

    @property
    def unsampled(self) -> int:
        """What no sample of this segment stands for; 0 if it is too little to be reported."""
        enough = self._unsampled > (self.sampled - self._sampled_before) // 100
        return self._unsampled if enough else 0

    def start_segment(self, reader_ns: int) -> None:
        """A new segment begins."""
        self._unsampled_before += max(self._unsampled, 0)
        self._unsampled = 0
        self._sampled_before = self.sampled
        self._turned = process_cpu(self._pid)
        self._before = self._turned - reader_ns

    def counts(self) -> dict[str, int]:
        return {
            "unsampled_cpu_ns": self._unsampled_before + max(self._unsampled, 0),
            "running": self.samples,
            "cpu_sampled_ns": self.sampled,
        }
