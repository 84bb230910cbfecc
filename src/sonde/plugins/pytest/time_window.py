"""When a test ran: everything that all threads did then belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


def last_run(recording: Recording, nodeid: str) -> Selection | None:
    """The time of the last call of this test; None if its span is not complete.

    Not its span: threads that the test starts are not in that, but they work for it.
    """
    spans = recording.spans
    for row in range(len(spans) - 1, -1, -1):
        if spans.name[row] == nodeid:
            start, end = int(spans.start_ns[row]), int(spans.end_ns[row])
            return None if end <= start else Selection(start_ns=start, end_ns=end)
    return None
