"""Acquisitions of locks in the JSON of the table of locks."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.views.locks.free_threading import FreeThreaded
    from sonde.views.locks.lock_activity import Activity, LockActivity


def activity_json(
    activity: LockActivity | None,
    contended_hold_ns: int | None,
    contended: int,
    without_gil: FreeThreaded | None,
) -> dict[str, Any]:
    """Of one lock. Where acquisitions were sampled, `hold_ns` is of all holds, not of those alone
    that others waited for. Else those that waited are known, and all of them."""
    if activity is None:
        unknown = dict.fromkeys(
            (
                "acquisitions", "acquisitions_margin", "recursive", "recursive_margin", "spin_ns",
                "free_threaded",
            )
        )  # fmt: skip
        known = {
            "contended": contended,
            "contended_margin": 0,
            "contended_hold_ns": contended_hold_ns,
        }
        return unknown | known
    found: dict[str, Any] = {}
    for field in ("acquisitions", "recursive", "contended"):
        found[field], found[f"{field}_margin"] = getattr(activity, field)
    return found | {
        "hold_ns": None if activity.hold is None else asdict(activity.hold),
        "contended_hold_ns": contended_hold_ns,
        "spin_ns": None if activity.spin is None else asdict(activity.spin),
        "free_threaded": None if without_gil is None else asdict(without_gil),
    }


def summary_json(activity: Activity) -> dict[str, Any]:
    return {
        "every": activity.every,
        "samples": activity.samples,
        "acquisitions": activity.acquisitions,
        "threads": [asdict(thread) for thread in activity.threads],
        "atomic": None if activity.costs is None else asdict(activity.costs),
    }
