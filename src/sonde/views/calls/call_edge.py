"""Who calls whom from which line, and how often: one row of the call graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sonde.views.selecting.profile import Function


@dataclass(frozen=True)
class CallEdge:
    """Calls of one function from one line of another; by context those from one call stack."""

    caller: Function | None
    """None: nothing of the program called it."""
    site_line: int
    callee: Function
    weight: float
    count: int
    """How many were counted."""
    error: float
    """The standard error of the weight."""
    interval: tuple[float, float]
    """The 95 % confidence interval of the weight."""
    chain: list[dict[str, Any]] | None = None
    """The callers with their lines, outermost first, and the callee; None: not asked for."""
    instruction: int = 0
    """Of the caller, where calls of one line are distinguished."""

    def to_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "caller": self.caller.to_json() if self.caller else None,
            "site_line": self.site_line,
            "callee": self.callee.to_json(),
            "weight": self.weight,
            "count": self.count,
            "error": self.error,
            "interval": list(self.interval),
        }
        return entry if self.chain is None else {**entry, "context": self.chain}
