"""Text for people: each file renders one view's result, at 80 columns and without colour too."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from rich.console import Console

_ROOMS = {
    "tree": "stacks",
    "flat": "stacks",
    "own-flat": "stacks",
    "lines": "stacks",
    "diff": "stacks",
    "hot": "stacks",
    "locks": "locks",
    "lock-table": "locks",
    "waits": "locks",
    "calls": "calls",
    "flow": "flow",
    "flow-events": "flow",
    "blockers": "fleet",
    "heat": "fleet",
    "outliers": "fleet",
    "recordings": "fleet",
    "slower": "fleet",
    "tprof": "live",
    "probes": "probes",
    "trace": "steps",
}
"""Of the views whose report lies in a folder."""


class Report(Protocol):
    """What a report's module offers."""

    def render(self, result: Any, out: Console, **options: Any) -> None: ...


def report_of(view: str) -> Report:
    """The report of this view, imported only now."""
    path = ["sonde", "reports", *filter(None, [_ROOMS.get(view)]), view.replace("-", "_")]
    return cast("Report", importlib.import_module(".".join(path)))
