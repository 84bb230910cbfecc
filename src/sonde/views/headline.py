"""What a recording says first: the top function, the top blocker, and how good the numbers are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.views.locks.locks import locks
from sonde.views.quality import Problem, quality, standard_error
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.own_code import OUTSIDE
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.own_flat import own_flat

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

BLOCKED_THRESHOLD = 0.01
"""Waiting for less than this share of the recording blocks nobody."""


@dataclass(frozen=True)
class TopFunction:
    """The function of the program's own with the most CPU time; its libraries' time is its own."""

    function: Function
    share: float


@dataclass(frozen=True)
class TopBlocker:
    """The function that others waited for the longest; None: its holder is not known."""

    kind: str
    function: Function | None
    wait_ns: int


@dataclass(frozen=True)
class Headline:
    """The answer in brief; None where there is nothing to name."""

    function: TopFunction | None
    blocker: TopBlocker | None
    locks_recorded: bool
    samples: int
    margin: float
    """Of a share of 50 %, with 95 % confidence."""
    problem: Problem | None
    """The worst of the recording itself."""


def headline(recording: Recording) -> Headline:
    rows = own_flat(recording, Selection())
    top = next((row for row in rows.rows if row.function != OUTSIDE and row.self_ns), None)
    found = quality(recording)
    what = recording.target.get("what")
    return Headline(
        function=TopFunction(top.function, top.self_ns / rows.total_ns) if top else None,
        blocker=_blocker(recording),
        locks_recorded=bool(len(recording.lock_events)) or "locks" in (what or ()),
        samples=rows.samples,
        margin=2 * standard_error(0.5, rows.samples),
        problem=found.problems[0] if found.problems else None,
    )


def _blocker(recording: Recording) -> TopBlocker | None:
    if not len(recording.lock_events):
        return None
    found = locks(
        recording, Selection(), by=("kind", "owner_own"), chains=False, notifications=False
    )
    blockers = [
        TopBlocker(kind.value, Function(**row.value) if row.value else None, row.wait_ns)
        for kind in found.rows
        for row in kind.children
    ]
    top = max(blockers, key=lambda blocker: blocker.wait_ns, default=None)
    if top is None or top.wait_ns < BLOCKED_THRESHOLD * duration_ns(recording):
        return None
    return top
