"""Which acquisitions of locks are sampled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sonde.errors import UsageError

from ...shm import layout as shm

LOCK_ACTIVITY = "lock-activity"
DEFAULT_EVERY = 1000
MAX_EVERY = 1_000_000


@dataclass(frozen=True)
class LockSampling:
    every: int = DEFAULT_EVERY
    """One of so many."""
    within: str = ""
    """Java: the package, class or method whose acquisitions are sampled."""


def check_lock_sampling(
    kinds: Collection[str], every: int | None, within: str | None = None
) -> LockSampling:
    given = {"--lock-activity-every": every, "--lock-activity-in": within}
    if LOCK_ACTIVITY not in kinds:
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} needs --what +{LOCK_ACTIVITY}")
    if every is not None and not 1 <= every <= MAX_EVERY:
        raise UsageError(
            f"--lock-activity-every must be between 1 and {MAX_EVERY} acquisitions, not {every}"
        )
    if within is not None and not within.strip():
        raise UsageError("--lock-activity-in is empty; give a package, class or method of Java")
    if within is not None and len(within.encode()) > shm.MAX_LOCK_WITHIN:
        raise UsageError(f"--lock-activity-in is longer than {shm.MAX_LOCK_WITHIN} bytes")
    return LockSampling(DEFAULT_EVERY if every is None else every, (within or "").strip())


def why_no_lock_activity(runtime: str, reason: int, sampling: Mapping[str, Any]) -> str:
    """Why acquisitions of this process are not sampled; "": they are."""
    if reason == shm.REASON_REMOTE:
        return "a process that is read from outside reports no acquisitions"
    if runtime == "hotspot" and not sampling["within"]:
        return (
            "Java programs need --lock-activity-in PACKAGE, CLASS or METHOD, whose methods are "
            "instrumented"
        )
    if runtime != "hotspot" and sampling["within"]:
        return "--lock-activity-in names methods of Java; record Python programs without it"
    return ""
