"""How long was recorded, and when was it paused?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


def pauses(recording: Recording) -> list[tuple[int, int]]:
    """Times in which nothing was captured, in order."""
    table = recording.pauses
    return list(zip(table.start_ns.tolist(), table.end_ns.tolist(), strict=True))


def duration_ns(recording: Recording) -> int:
    """How long was recorded; of a recording cut off, until the last thing it holds."""
    recorded = recording.target.get("duration_ns")
    if isinstance(recorded, int):
        return recorded
    ends = [p.end_ns or p.start_ns for p in recording.processes]
    columns = (
        recording.samples.time,
        recording.marks.time,
        recording.threads.end_ns,
        recording.lock_events.time,
    )
    ends += [int(times.max()) for times in columns if len(times)]
    return max(ends, default=0)
