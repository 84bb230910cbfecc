"""The step trace of one process, as it lies in the memory that its agent shares."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from ..shm.probe_area import STEPS_FULL, STEPS_IDLE, TROUBLES

if TYPE_CHECKING:
    from ..shm.probe_area import ProbeArea
    from ..shm.thread_ids import ThreadIds
    from .segment import ProcessSegment
    from .stacks.contexts import Codes

# Characters of a row, each of which is up to two bytes in the file.
ROW = 30_000
_CODE, _FAR, _FIRST = 0xFF00, 0xFF07, 0xFF00


def write_steps(
    segment: ProcessSegment, codes: Codes, tids: ThreadIds, area: ProbeArea | None
) -> None:
    """When the process has ended, or the recording."""
    if area is None:
        return
    steps = area.steps()
    if steps.state == STEPS_IDLE:
        return
    writer, origin = segment.writer, segment.origin
    trouble = TROUBLES[steps.trouble] if steps.trouble < len(TROUBLES) else ""
    trace = writer.append(
        "step_traces", segment.row, area.steps_span(), max(steps.began_ns - origin, 0),
        max(steps.ended_ns - origin, 0), steps.spans, int(steps.state == STEPS_FULL), trouble,
    )  # fmt: skip
    seen: set[int] = set()
    for tid, number, words in area.chunks():
        for part, at in enumerate(range(0, len(words), ROW)):
            text = words[at : at + ROW].decode("latin-1")
            writer.append("step_words", trace, tids.ours(tid), number << 8 | part, text)
        seen |= _codes_in(words)
    for code in sorted(seen):
        known = codes.lines_of(code)
        row = writer.append("step_codes", trace, code, -1 if known is None else known[0])
        last = None
        for index, line in enumerate(known[1] if known is not None else []):
            if line != last:
                writer.append("step_lines", row, index, line)
                last = line


def _codes_in(chunk: bytes) -> set[int]:
    words = array("H", chunk)
    found: set[int] = set()
    at, end = 0, len(words)
    raw = memoryview(chunk)
    while at < end:
        word = words[at]
        if word == _CODE and at + 5 <= end:
            found.add(int.from_bytes(raw[2 * at + 2 : 2 * at + 10], "little"))
            at += 5
        else:
            at += 3 if word == _FAR else 1
    return found
