"""Windows in which calls are counted: their calls come first, what they weigh at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import shm

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.recording.writer import Writer

REFUSALS = {
    shm.CALLS_COMPILED: "calls are not counted: each window would restart the interpreter's "
    "JIT compilation",
    shm.CALLS_FAILED: "calls are not counted: sys.monitoring is not available",
}
"""Why an agent does not count calls, by what it says."""

WITHHELD = {
    "tracing": "calls are not counted while the program uses sys.settrace or sys.setprofile",
    "monitoring": "calls are not counted while a tool of the program uses sys.monitoring",
    "no_tool_id": "calls are not counted while every tool id of sys.monitoring is in use",
    "evaluator": "calls are not counted while the program evaluates its frames itself (PEP 523)",
}
"""Why an agent does not open a window, in the order of its counts."""


class Window:
    """A thread's window, as far as its calls have come."""

    def __init__(self) -> None:
        self._number = 0
        self._calls: list[tuple[int, int, int]] = []

    def add(self, number: int, context: int, site: int, offset: int) -> None:
        """A call was counted; one of an earlier window that never ended takes its calls along."""
        if number != self._number:
            self._number = number
            self._calls.clear()
        self._calls.append((context, site, offset))

    def renew(self, carried: Callable[[int], int]) -> None:
        """Its contexts have other places in a new part."""
        self._calls = [(carried(context), site, at) for context, site, at in self._calls]

    def write(
        self,
        writer: Writer,
        thread: int,
        began: int,
        duration: int,
        number: int,
        stride: int,
        how: int,
        native: int,
    ) -> None:
        calls = self._calls if number == self._number else []
        row = writer.append("windows", thread, began, duration, stride, how, native)
        writer.extend("calls", [(row, *call) for call in calls])
        self._calls = []


def counts(
    calls: int, lost: int, windows: int, missed: int, withheld: tuple[int, ...]
) -> dict[str, int]:
    """What a recording says of its windows, if there were any."""
    if not windows and not missed and not any(withheld):
        return {}
    reasons = zip(WITHHELD, withheld, strict=True)
    return {
        "calls_counted": calls,
        "calls_lost": lost,
        "windows": windows,
        "windows_missed": missed,
        "windows_withheld": sum(withheld),
        **{f"windows_withheld_{reason}": number for reason, number in reasons if number},
    }


def why_withheld(withheld: tuple[int, ...]) -> str:
    """The reason for most of the windows that were not opened; empty if all were."""
    most = max(range(len(withheld)), key=withheld.__getitem__)
    return list(WITHHELD.values())[most] if withheld[most] else ""
