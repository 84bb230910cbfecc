"""What goes into the segments of a session: all that is known, before one ends or is read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError

if TYPE_CHECKING:
    from .admission import Admission
    from .control.parent_channel import ParentChannel
    from .sampling.overhead_budget import OverheadBudget
    from .segments import Segments
    from .target_set import TargetSet

# Of the session's profile, what every dump and the end of the recording says.
HOT_ROWS = 20


class SegmentLifecycle:
    def __init__(
        self,
        began: int,
        segments: Segments,
        target_set: TargetSet,
        admission: Admission,
        budget: OverheadBudget | None,
        starter: ParentChannel,
    ) -> None:
        self._began = began
        self._segments = segments
        self._writer = segments.writer
        self._target_set = target_set
        self._admission = admission
        self._capture = admission.capture
        self._budget = budget
        self._parent = starter
        self._refused = False
        self.grows = True
        """Nobody has said yet that this is the end."""

    @property
    def origin(self) -> int:
        """The moment that times in the segment being written count from."""
        return self._admission.origin or self._began

    def flush(self) -> None:
        self._segments.flush()
        if self._segments.refused is None:
            self._target_set.tally.written()
        self._mention_disk()

    def _mention_disk(self) -> None:
        """That nothing can be written, or that it can again."""
        refused = self._segments.refused
        if refused is not None and not self._refused:
            self._parent.send_nowait({"trouble": f"{refused}; recording continues without it"})
        elif refused is None and self._refused:
            self._parent.send_nowait({"trouble": f"writing to {self._segments.path} again"})
        self._refused = refused is not None

    def bring_up_to_date(self) -> int:
        """Everything that has happened until now is in the segment being written; its size."""
        for target in self._target_set:
            target.drain()
        self.write_quality()
        self.flush()
        self._refuse_unwritten()
        return self._writer.size

    def next_part(self) -> None:
        """All that is known goes into the segment that ends; everybody goes on in the next."""
        for target in self._target_set:
            target.drain()
            target.settle()
        # So that no step of the metrics lies on both sides.
        self._admission.step_metrics()
        now = time.monotonic_ns()
        self._capture.cut_pause(now, self.origin)
        for target in self._target_set:
            target.end_part(now)
        self.write_quality()
        self.flush()
        self._segments.begin(now)
        self._target_set.tally.begin_part(self._writer.unwritten.get("samples", 0))
        self._admission.start_segment(now)
        self._target_set.announce()
        # Cut off before its next count, it would take its rows for all that was counted.
        self.write_quality()
        self._mention_disk()

    def dump(self, path: str | None = None, why: str = "requested") -> str:
        """Writes a flight recorder's memory into a file; a SondeError says why it cannot."""
        self._segments.check_dump()
        if self._admission.origin is None:
            raise SondeError("nothing is recorded yet; try again later")
        for target in self._target_set:
            target.drain()
        self._admission.step_metrics()
        self._capture.cut_pause(time.monotonic_ns(), self.origin)
        self.write_quality()
        self.write_hot()
        return self._segments.dump(path, why)

    def rotate(self) -> str:
        """Begins the next segment of a continuous recording now, and returns where."""
        self._segments.check_rotation()
        if self._admission.origin is None:
            raise SondeError("nothing is recorded yet, so no segment can follow; try again later")
        self.next_part()
        self._refuse_unwritten()
        return self._segments.path

    def _refuse_unwritten(self) -> None:
        if self._segments.refused is not None:
            raise SondeError(self._segments.refused)

    # ---- what the session says about itself

    def facts(self, *, whole: bool = False) -> dict[str, Any]:
        """In the segment being written, or as a whole."""
        more = self._segments.counts()
        if paused_ns := self._capture.paused_ns:
            more["paused_ns"] = paused_ns
        facts = self._target_set.facts(more, whole=whole)
        self._capture.event_facts(facts)
        if self._capture.asks_chained:
            facts["stacks_asked"] = "chained"
        if self._budget is not None:
            facts |= self._budget.facts()
        if (online := self._admission.online) is not None:
            facts["online"] = online.facts()
        return facts

    def write_quality(self) -> None:
        self._writer.quality(self.facts())
        if self.grows:  # so that a recording still growing, or cut off, knows its length
            self._writer.target({"duration_ns": time.monotonic_ns() - self.origin})

    def write_hot(self) -> None:
        """What is known of the whole session, of which a flight recorder has only the end."""
        if (online := self._admission.online) is not None:
            self._writer.target({"hot": online.answer(HOT_ROWS)})
