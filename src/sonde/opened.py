"""A recording in the hands of a Python program: its tables, and the views as methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from sonde.views.selecting.selection import select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sonde.model.choice import Time
    from sonde.recording.tables import Recording
    from sonde.views.calls.calls import Calls
    from sonde.views.flow.flow import Flow
    from sonde.views.flow.flow_events import FlowEventList
    from sonde.views.locks.lock_table import LockTable
    from sonde.views.locks.locks import Locks
    from sonde.views.locks.wait_graph import Waits
    from sonde.views.loops.tasks import Tasks
    from sonde.views.objects.objects import Objects
    from sonde.views.probes.probes import ProbeReport
    from sonde.views.quality import Quality
    from sonde.views.selecting.selection import Selection
    from sonde.views.selecting.span_filter import SpanChoice
    from sonde.views.selecting.start_up import StartUp
    from sonde.views.spans import Spans
    from sonde.views.stacks.flat import Flat
    from sonde.views.stacks.lines import Lines
    from sonde.views.stacks.tree import Tree
    from sonde.views.steps.trace import TraceReport
    from sonde.views.summary import Summary
    from sonde.views.threads import Threads
    from sonde.views.tprof import Tprof


class _Threads(TypedDict, total=False):
    thread: str | int | None
    process: int | None


class ThreadsAndTime(_Threads, total=False):
    start: float | None
    end: float | None


class ThreadsAndSpan(_Threads, total=False):
    span: SpanChoice | None


class ProcessAndTime(TypedDict, total=False):
    process: int | None
    start: float | None
    end: float | None
    task: str | None


class Where(ThreadsAndTime, ThreadsAndSpan, total=False):
    """What part of a recording a view looks at; all of it unless given."""


class WhereAndTask(Where, total=False):
    task: str | None


def _select(time: Time, where: Mapping[str, Any], declared: type[Any]) -> Selection:
    """A selection of these arguments, of which a view declares that it takes them."""
    for name in where:
        if name not in declared.__optional_keys__:
            raise TypeError(f"unexpected keyword argument {name!r}")
    return select(time, **where)


@dataclass(frozen=True)
class OpenedRecording:
    """What `sonde.open` returns. Seconds count from the recording's start.

    Every view takes what the command line takes: `thread` a name or tid, `process` a pid,
    `start` and `end` in seconds, `span` a span's name or `sonde.SpanAttribute(key, value)`, and
    `time` "running", "waiting" or "wall".
    """

    tables: Recording

    def to_arrow(self) -> dict[str, Any]:
        """The tables by name, as PyArrow has them; needs the `fleet` extra."""
        from sonde.exports.parquet import arrow_tables

        return arrow_tables(self.tables)

    def summary(self, *, top: int | None = None, **where: Unpack[Where]) -> Summary:
        from sonde.views.summary import summary

        return summary(self.tables, _select("running", where, Where), top=top)

    def tree(
        self,
        *,
        time: Time | None = None,
        merge_lines: bool = False,
        top: int | None = None,
        while_held: str | None = None,
        mine: bool = False,
        vm_frames: bool = False,
        logical: bool = False,
        **where: Unpack[WhereAndTask],
    ) -> Tree:
        """`while_held` is a lock, "gil" or "loop": the tree of its holders while others waited.

        `mine`: of your own functions, with each library function that they call as one node.
        `vm_frames`: with what the JVM's compilers and garbage collectors do in detail.
        `logical`: across tasks, with what each does below the coroutine that awaits it.

        `time` is "running" unless given, with `while_held` "wall".
        """
        from sonde.views.stacks.tree import tree

        asked: Time = time or ("running" if while_held is None else "wall")
        chosen = _select(asked, where, WhereAndTask)
        tables = self.tables
        if logical:
            from sonde.views.loops.logical_stacks import logical as with_logical_stacks

            tables = with_logical_stacks(tables)
        return tree(
            tables,
            chosen,
            merge_lines=merge_lines,
            top=top,
            while_held=while_held,
            mine=mine,
            vm_frames=vm_frames,
        )

    def flat(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        vm_frames: bool = False,
        **where: Unpack[WhereAndTask],
    ) -> Flat:
        """`vm_frames`: with what the JVM's compilers and garbage collectors do in detail."""
        from sonde.views.stacks.flat import flat

        return flat(self.tables, _select(time, where, WhereAndTask), top=top, vm_frames=vm_frames)

    def own_flat(
        self, *, time: Time = "running", top: int | None = None, **where: Unpack[Where]
    ) -> Flat:
        """Your own functions, with the time of the libraries that they call."""
        from sonde.views.stacks.own_flat import own_flat

        return own_flat(self.tables, _select(time, where, Where), top=top)

    def lines(
        self,
        *,
        time: Time = "running",
        top: int | None = None,
        mine: bool = False,
        **where: Unpack[WhereAndTask],
    ) -> Lines:
        """`mine`: your own lines, with the time of the libraries that they call."""
        from sonde.views.stacks.lines import lines

        return lines(self.tables, _select(time, where, WhereAndTask), top=top, mine=mine)

    def start_up(self) -> StartUp | None:
        """The phase in which the program imports; its end in seconds may be a view's `start`."""
        from sonde.views.selecting.start_up import start_up

        return start_up(self.tables)

    def threads(self, *, top: int | None = None, **where: Unpack[Where]) -> Threads:
        from sonde.views.threads import threads

        return threads(self.tables, _select("wall", where, Where), top=top)

    def flow(
        self, *, flat: bool = False, top: int | None = None, **where: Unpack[_Threads]
    ) -> Flow:
        """Every call, by calling context; `rows` are functions, whoever called them."""
        from sonde.views.flow.flow import flow

        return flow(self.tables, _select("running", where, _Threads), flat=flat, top=top)

    def flow_events(
        self, *, top: int | None = None, **where: Unpack[ThreadsAndTime]
    ) -> FlowEventList:
        """Entries and exits in order."""
        from sonde.views.flow.flow_events import flow_events

        return flow_events(self.tables, _select("running", where, ThreadsAndTime), top=top)

    def calls(
        self, *, by: str = "edge", top: int | None = None, **where: Unpack[ThreadsAndTime]
    ) -> Calls:
        """`by` is "edge" or "context"."""
        from sonde.views.calls.calls import calls

        chosen = _select("running", where, ThreadsAndTime)
        return calls(self.tables, chosen, by=by, top=top)

    def objects(
        self,
        *,
        by: str = "class",
        at: float | None = None,
        high_water: bool = False,
        growth: bool = False,
        top: int | None = None,
        **where: Unpack[ThreadsAndTime],
    ) -> Objects:
        """`by` is "class", "site" or "context". What was allocated; or what was alive `at` a second
        of the recording, or when most was; or the growth of that from `start` to `end`."""
        from sonde.views.objects.objects import objects

        chosen = _select("running", where, ThreadsAndTime)
        return objects(
            self.tables,
            chosen,
            by=by,
            at_ns=None if at is None else round(at * 1e9),
            at_high_water=high_water,
            growth=growth,
            top=top,
        )

    def locks(
        self,
        *,
        by: Sequence[str] | None = None,
        top: int | None = None,
        **where: Unpack[WhereAndTask],
    ) -> Locks:
        """`by` names the aspects to split the waiting by, in order, as `--by` does."""
        from sonde.views.locks.locks import DEFAULT, aspects
        from sonde.views.loops.loop_locks import locks_and_loops

        chosen = _select("running", where, WhereAndTask)
        asked = DEFAULT if by is None else aspects(",".join(by))
        return locks_and_loops(self.tables, chosen, by=asked, top=top)

    def lock_table(self, *, top: int | None = None, **where: Unpack[WhereAndTask]) -> LockTable:
        from sonde.views.locks.lock_table import lock_table

        return lock_table(self.tables, _select("running", where, WhereAndTask), top=top)

    def waits(self, *, at: float | None = None, **where: Unpack[ThreadsAndSpan]) -> Waits:
        """Who waits for whom at a second of the recording."""
        from sonde.views.locks.wait_graph import waits

        moment = None if at is None else round(at * 1e9)
        return waits(self.tables, _select("running", where, ThreadsAndSpan), at_ns=moment)

    def spans(
        self, *, by: str = "name", top: int | None = None, **where: Unpack[WhereAndTask]
    ) -> Spans:
        """`by` is "name" or "task"."""
        from sonde.views.spans import spans

        return spans(self.tables, _select("wall", where, WhereAndTask), by=by, top=top)

    def probes(self, *, top: int | None = None, **where: Unpack[Where]) -> ProbeReport:
        from sonde.views.probes.probes import probes

        return probes(self.tables, _select("wall", where, Where), top=top)

    def tasks(self, *, top: int | None = None, **where: Unpack[ProcessAndTime]) -> Tasks:
        """The tasks of event loops; `task` is a name, an id or a coroutine function."""
        from sonde.views.loops.tasks import tasks

        return tasks(self.tables, _select("running", where, ProcessAndTime), top=top)

    def trace(
        self, *, by: str = "flow", top: int | None = None, **where: Unpack[_Threads]
    ) -> TraceReport:
        from sonde.views.steps.trace import trace

        return trace(self.tables, _select("wall", where, _Threads), by=by, top=top)

    def tprof(self, **where: Unpack[ThreadsAndTime]) -> Tprof:
        """Of a recording of the whole machine, by `sonde tprof -o`."""
        from sonde.views.tprof import tprof_of

        return tprof_of(self.tables, _select("wall", where, ThreadsAndTime))

    def quality(self) -> Quality:
        from sonde.views.quality import quality

        return quality(self.tables)
