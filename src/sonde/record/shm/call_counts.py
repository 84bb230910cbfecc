"""What an agent says of the windows in which it counts calls, and of those it does not open."""

from __future__ import annotations

from . import layout as shm

REFUSALS = {
    shm.CALLS_COMPILED: "calls are not counted: each window would restart the interpreter's "
    "JIT compilation",
    shm.CALLS_FAILED: "calls are not counted: sys.monitoring is not available",
    shm.CALLS_NOT_INSERTED: "calls are not counted: the JVM does not let classes be changed",
}
"""Why an agent does not count calls, by what it says."""

WITHHELD = {
    "tracing": "calls are not counted while the program uses sys.settrace or sys.setprofile",
    "monitoring": "calls are not counted while a tool of the program uses sys.monitoring",
    "no_tool_id": "calls are not counted while every tool id of sys.monitoring is in use",
    "evaluator": "calls are not counted while the program evaluates its frames itself (PEP 523)",
}
"""Why an agent does not open a window, in the order of its counts."""


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
