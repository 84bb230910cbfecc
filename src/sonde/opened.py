"""A recording in the hands of a Python program: its tables, and the views as methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.views.selecting.selection import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.model.choice import Time
    from sonde.recording.tables import Recording
    from sonde.views.calls.calls import Calls
    from sonde.views.locks.lock_table import LockTable
    from sonde.views.locks.locks import Locks
    from sonde.views.locks.wait_graph import Waits
    from sonde.views.objects import Objects
    from sonde.views.quality import Quality
    from sonde.views.spans import Spans
    from sonde.views.stacks.flat import Flat
    from sonde.views.stacks.lines import Lines
    from sonde.views.stacks.tree import Tree
    from sonde.views.summary import Summary
    from sonde.views.threads import Threads


@dataclass(frozen=True)
class OpenedRecording:
    """What `sonde.open` returns. Seconds count from the recording's start.

    Every view takes what the command line takes: `thread` a name or tid, `process` a pid,
    `start` and `end` in seconds, `span` a span's name, and `time` "running", "waiting" or "wall".
    """

    tables: Recording

    def to_arrow(self) -> dict[str, Any]:
        """The tables by name, as PyArrow has them; needs the `fleet` extra."""
        from sonde.exports.parquet import arrow_tables

        return arrow_tables(self.tables)

    def summary(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Summary:
        from sonde.views.summary import summary

        return summary(self.tables, select("running", thread, process, start, end, span), top=top)

    def tree(
        self,
        *,
        time: Time | None = None,
        merge_lines: bool = False,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
        while_held: str | None = None,
    ) -> Tree:
        """`while_held` is a lock, or "gil": the tree of its holders while others waited.

        `time` is "running" unless given, with `while_held` "wall".
        """
        from sonde.views.stacks.tree import tree

        asked: Time = time or ("running" if while_held is None else "wall")
        chosen = select(asked, thread, process, start, end, span)
        return tree(self.tables, chosen, merge_lines=merge_lines, top=top, while_held=while_held)

    def flat(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Flat:
        from sonde.views.stacks.flat import flat

        return flat(self.tables, select(time, thread, process, start, end, span), top=top)

    def lines(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Lines:
        from sonde.views.stacks.lines import lines

        return lines(self.tables, select(time, thread, process, start, end, span), top=top)

    def threads(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Threads:
        from sonde.views.threads import threads

        return threads(self.tables, select("wall", thread, process, start, end, span), top=top)

    def calls(
        self,
        *,
        by: str = "edge",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Calls:
        """`by` is "edge" or "context"."""
        from sonde.views.calls.calls import calls

        chosen = select("running", thread, process, start, end)
        return calls(self.tables, chosen, by=by, top=top)

    def objects(
        self,
        *,
        by: str = "class",
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Objects:
        """`by` is "class", "site" or "context"."""
        from sonde.views.objects import objects

        chosen = select("running", thread, process, start, end)
        return objects(self.tables, chosen, by=by, top=top)

    def locks(
        self,
        *,
        by: Sequence[str] | None = None,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Locks:
        """`by` names the aspects to split the waiting by, in order, as `--by` does."""
        from sonde.views.locks.locks import DEFAULT, aspects, locks

        chosen = select("running", thread, process, start, end, span)
        asked = DEFAULT if by is None else aspects(",".join(by))
        return locks(self.tables, chosen, by=asked, top=top)

    def lock_table(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> LockTable:
        from sonde.views.locks.lock_table import lock_table

        return lock_table(
            self.tables, select("running", thread, process, start, end, span), top=top
        )

    def waits(
        self,
        *,
        at: float | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        span: str | None = None,
    ) -> Waits:
        """Who waits for whom at a second of the recording."""
        from sonde.views.locks.wait_graph import waits

        moment = None if at is None else round(at * 1e9)
        return waits(self.tables, select("running", thread, process, span=span), at_ns=moment)

    def spans(
        self,
        *,
        top: int | None = None,
        thread: str | int | None = None,
        process: int | None = None,
        start: float | None = None,
        end: float | None = None,
        span: str | None = None,
    ) -> Spans:
        from sonde.views.spans import spans

        return spans(self.tables, select("wall", thread, process, start, end, span), top=top)

    def quality(self) -> Quality:
        from sonde.views.quality import quality

        return quality(self.tables)
