"""Limits that a test declares: `@pytest.mark.sonde(max_share={"json.dumps": 0.2})`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

import pytest

from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


MARK = "sonde"


@dataclass(frozen=True)
class Limits:
    """What of a test is limited; nothing if both are empty."""

    max_share: dict[str, float] = field(default_factory=dict)
    max_lock_wait: float | None = None
    """Seconds in which threads waited for locks and the GIL that other threads held."""

    def __bool__(self) -> bool:
        return bool(self.max_share) or self.max_lock_wait is not None


@dataclass
class Outcome:
    """Sentences about the limits that a test exceeded, and those that could not be decided."""

    exceeded: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def limits_of(item: pytest.Item) -> Limits:
    """Of all marks of a test; the closest one has precedence. A usage error for a wrong mark."""
    shares: dict[str, float] = {}
    lock_wait: float | None = None
    for mark in item.iter_markers(MARK):
        if mark.args or not mark.kwargs or mark.kwargs.keys() - {"max_share", "max_lock_wait"}:
            raise UsageError(
                f"{item.nodeid}: invalid mark sonde; valid arguments: "
                "max_share={function: share}, max_lock_wait=seconds"
            )
        shares = _shares(item.nodeid, mark.kwargs.get("max_share", {})) | shares
        if lock_wait is None:
            lock_wait = _seconds(item.nodeid, mark.kwargs.get("max_lock_wait"))
    return Limits(shares, lock_wait)


def _shares(nodeid: str, given: object) -> dict[str, float]:
    valid = isinstance(given, dict) and all(
        isinstance(name, str) and name and _is_number(share) and 0 < share <= 1
        for name, share in given.items()
    )
    if not valid:
        raise UsageError(
            f"{nodeid}: invalid max_share {given!r}; give a dict of function names and "
            "shares above 0, at most 1"
        )
    assert isinstance(given, dict)
    return given


def _seconds(nodeid: str, given: object) -> float | None:
    if given is None:
        return None
    if not _is_number(given) or not 0 <= given < float("inf"):
        raise UsageError(f"{nodeid}: invalid max_lock_wait {given!r}; give a number of seconds")
    return float(given)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(recording: Recording, nodeid: str, limits: Limits) -> Outcome:
    """What the recording says of the limits of this test, which has just run."""
    from .time_window import last_run

    outcome = Outcome()
    window = last_run(recording, nodeid)
    if window is None:
        outcome.undecided.append("the recorder lost the beginning or end of this test")
        return outcome
    if limits.max_share:
        _check_shares(recording, window, limits.max_share, outcome)
    if limits.max_lock_wait is not None:
        _check_lock_wait(recording, window, limits.max_lock_wait, outcome)
    return outcome


def _check_shares(
    recording: Recording, window: Selection, limits: dict[str, float], outcome: Outcome
) -> None:
    from sonde.model.proportion import share_interval
    from sonde.views.selecting.formatting import count, percent

    from .function_names import resolve
    from .function_share import function_shares

    names = [resolve(name) for name in limits]
    for name, (share, samples, seen) in zip(
        names, function_shares(recording, window, names), strict=True
    ):
        limit = limits[name.name]
        low, high = share_interval(share, samples)
        measured = (
            f"{name.name} took {percent(share)} of the CPU time of this test "
            f"({percent(low)} to {percent(high)} with 95 % confidence, "
            f"{count(round(samples), 'sample')}); the limit is {percent(limit)}"
        )
        if low > limit:
            outcome.exceeded.append(measured)
        elif not seen and not name.is_resolved:
            outcome.undecided.append(
                f"no function {name.name!r} was seen in this test, and no loaded module has one; "
                "check the name"
            )
        elif high > limit:
            outcome.undecided.append(f"{measured}: too few samples to decide")


def _check_lock_wait(
    recording: Recording, window: Selection, limit: float, outcome: Outcome
) -> None:
    from sonde.views.locks.locks import locks
    from sonde.views.selecting.formatting import duration

    found = locks(recording, window, by=("kind", "lock"), notifications=False, chains=False)
    lost = recording.quality.get("lock_events_lost") or 0
    if found.total_ns > limit * 1e9:
        longest = max(
            (row for kind in found.rows for row in kind.children), key=lambda r: r.wait_ns
        )
        outcome.exceeded.append(
            f"threads waited {duration(found.total_ns)} for locks in this test, "
            f"{duration(longest.wait_ns)} of it for {longest.value}; "
            f"the limit is {duration(limit * 1e9)}"
        )
    elif lost or found.undecided:
        outcome.undecided.append(
            f"threads waited at least {duration(found.total_ns)} for locks in this test; "
            f"the limit is {duration(limit * 1e9)}: lock events were lost"
        )
