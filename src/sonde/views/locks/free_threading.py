"""What the program's locks would cost on a free-threaded build of CPython: an estimate.

With a GIL a lock that nobody holds costs the same whichever thread had it last, because one thread
runs at a time. Without a GIL threads run on several processors: an acquisition by another thread
than the one before has to wait for the lock's cache line, and threads meet at locks that are held
for much of the time. The estimate takes acquisitions, holds and threads as they were recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class AtomicCosts:
    """Measured on the machine of the recording, in nanoseconds."""

    alone_ns: float
    """To acquire and release a lock that the thread had last."""
    transfer_ns: float | None
    """To get its cache line from another processor; None: there was no other."""


@dataclass(frozen=True)
class FreeThreaded:
    """One lock."""

    atomic_ns: int
    """All acquisitions and releases, on a cache line that is there."""
    transfers: int
    """Acquisitions by another thread than the one before."""
    transfer_ns: int | None
    """What the cache line takes for them; None: unknown."""
    held_share: float | None
    """Of the recording's time the lock was held: where it is high, threads will wait. None: no
    hold was sampled."""

    @property
    def total_ns(self) -> int:
        return self.atomic_ns + (self.transfer_ns or 0)


def atomic_costs(recording: Recording) -> AtomicCosts | None:
    found: Any = recording.quality.get("lock_costs")
    if not isinstance(found, dict) or not isinstance(found.get("alone_ns"), float | int):
        return None
    transfer = found.get("transfer_ns")
    return AtomicCosts(
        float(found["alone_ns"]), float(transfer) if isinstance(transfer, float | int) else None
    )


def free_threaded(
    costs: AtomicCosts, made: int, transfers: int, held_ns: float | None, duration_ns: int
) -> FreeThreaded:
    return FreeThreaded(
        round(made * costs.alone_ns),
        transfers,
        None if costs.transfer_ns is None else round(transfers * costs.transfer_ns),
        None if held_ns is None else held_ns / max(duration_ns, 1),
    )
