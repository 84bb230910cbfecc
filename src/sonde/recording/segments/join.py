"""Segments of one session, put together as if they had never been apart.

Each segment opens alone: what it refers to stands in it, and its times count from its own
beginning. A segment alone and one that follows another differ at the segment boundary:

- a wait that began before the segment is two rows, the first (at time -1) with the share of it that
  lies before: alone that share is left out, joined both are one wait again;
- lock events of waits that had not ended and spans that had not been left are repeated with their
  old, negative times: alone they say that somebody waits or is inside since the beginning, joined
  they are there already; a pause under way is two, joined one again;
- anything else that comes late over a segment boundary has a negative time, too, and alone counts
  from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sonde.recording.format.framing import RecordingError
from sonde.recording.segments.joined_tables import JoinedTables
from sonde.recording.segments.quality_join import joined_quality
from sonde.recording.segments.standalone_segment import alone
from sonde.recording.tables import Recording


def join(parts: Sequence[Recording], path: str) -> Recording:
    """Segments of one session in any order; RecordingError if they are of several."""
    parts = _in_order(parts, path)
    if len(parts) == 1:
        return alone(parts[0])
    joined = JoinedTables()
    before: Recording | None = None
    missing = 0
    for part in parts:
        follows = before is not None and _number(part) == _number(before) + 1
        if before is not None and _recorder(part) == _recorder(before):
            missing += _number(part) - _number(before) - 1
        start = _clock(part) - _clock(parts[0])
        joined.add(part, start, before if follows else None)
        before = part
    warnings = list(dict.fromkeys(warning for part in parts for warning in part.warnings))
    if missing:
        which = "1 segment" if missing == 1 else f"{missing} segments"
        warnings.append(f"{path}: {which} between the first and the last is missing")
    target = {**parts[0].target, **parts[-1].target}
    for key in ("started", "session"):
        target[key] = parts[0].target.get(key)
    last = int(parts[-1].target.get("duration_ns", 0))
    target["duration_ns"] = _clock(parts[-1]) - _clock(parts[0]) + last
    target["parts"] = len(parts)
    starts = [_clock(part) - _clock(parts[0]) for part in parts]
    quality = joined_quality([part.quality for part in parts], starts)
    gap = _between(parts)
    if gap:
        quality["gap_ns"] = gap
    recording = joined.recording(path, target, quality, warnings)
    if all(part.cpu_ns is None for part in parts):
        return recording
    return replace(recording, cpu_ns=sum(part.sampled_cpu_ns for part in parts))


def _in_order(parts: Sequence[Recording], path: str) -> list[Recording]:
    """By their time; each segment once, although two files may hold it."""
    sessions: dict[str, list[Recording]] = {}
    for part in parts:
        session = part.target.get("session")
        key = session.get("id") if isinstance(session, dict) else None
        if not isinstance(key, str):
            raise RecordingError(
                f"{part.path} is not a segment that can be joined with others; give it alone"
                if len(parts) > 1
                else f"{part.path} is not a segment of a session"
            )
        sessions.setdefault(key, []).append(part)
    if len(sessions) > 1:
        firsts = sorted(found[0].path for found in sessions.values())
        raise RecordingError(
            f"{path} has segments of {len(sessions)} sessions, such as {firsts[0]} and "
            f"{firsts[1]}; "
            "give the segments of one"
        )
    (found,) = sessions.values()
    ordered = sorted(found, key=_clock)
    return [
        part for i, part in enumerate(ordered) if not i or _clock(part) != _clock(ordered[i - 1])
    ]


def _session(part: Recording, key: str) -> int:
    value = part.target["session"].get(key)
    return value if isinstance(value, int) and 0 <= value < 2**62 else 0


def _clock(part: Recording) -> int:
    """When its time 0 was, on the machine's clock."""
    return _session(part, "clock_ns")


def _number(part: Recording) -> int:
    return _session(part, "part")


def _recorder(part: Recording) -> int:
    """A recorder that took the place of one that was killed numbers its segments far behind."""
    return _number(part) >> 32


def _between(parts: Sequence[Recording]) -> int:
    """Time that no segment covers: a full disk, a killed recorder, a missing segment."""
    gap = 0
    for before, part in pairwise(parts):
        silence = _clock(part) - _clock(before) - int(before.target.get("duration_ns", 0))
        # The last count of a segment that was cut off may be older than its last row.
        gap += max(silence, 0)
    return gap
