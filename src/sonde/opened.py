"""A recording in the hands of a Python program: its tables, and the views as methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.views.selection import select

if TYPE_CHECKING:
    from sonde.model.choice import Time
    from sonde.recording.tables import Recording
    from sonde.views.flat import Flat
    from sonde.views.lines import Lines
    from sonde.views.quality import Quality
    from sonde.views.summary import Summary
    from sonde.views.threads import Threads
    from sonde.views.tree import Tree


@dataclass(frozen=True)
class OpenedRecording:
    """What `sonde.open` returns. Seconds count from the recording's start.

    Every view takes what the command line takes: `thread` a name or tid, `process` a pid,
    `start` and `end` in seconds, and `time` "running", "waiting" or "wall".
    """

    tables: Recording

    def summary(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Summary:
        from sonde.views.summary import summary

        return summary(self.tables, select("running", thread, process, start, end), top=top)

    def tree(
        self,
        *,
        time: Time = "running",
        merge_lines: bool = False,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Tree:
        from sonde.views.tree import tree

        chosen = select(time, thread, process, start, end)
        return tree(self.tables, chosen, merge_lines=merge_lines, top=top)

    def flat(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Flat:
        from sonde.views.flat import flat

        return flat(self.tables, select(time, thread, process, start, end), top=top)

    def lines(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Lines:
        from sonde.views.lines import lines

        return lines(self.tables, select(time, thread, process, start, end), top=top)

    def threads(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Threads:
        from sonde.views.threads import threads

        return threads(self.tables, select("wall", thread, process, start, end), top=top)

    def quality(self) -> Quality:
        from sonde.views.quality import quality

        return quality(self.tables)
