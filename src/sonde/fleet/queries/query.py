"""What of a store is asked about, and its tables cut down to that."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ibis

from sonde.errors import UsageError
from sonde.fleet.store.parts import SECOND
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.fleet.queries.engines import Engine
    from sonde.fleet.store.labels import Condition, Exactly
    from sonde.fleet.store.parts import Part, Store
    from sonde.model.choice import Time

_AGO = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class Question:
    """Everything by default."""

    where: tuple[Condition | Exactly, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    thread: str | None = None
    process: int | None = None
    time: Time = "running"

    @property
    def of_part(self) -> bool:
        """Whether it is about a part of recordings, not about whole ones."""
        return (self.start_ns, self.end_ns, self.thread, self.process) != (None,) * 4

    def and_(self, where: Sequence[Condition | Exactly]) -> Question:
        return replace(self, where=(*self.where, *where))


def period(text: str) -> timedelta:
    """`30d`, `12h`."""
    match = _AGO.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"invalid time {text!r}; give one such as 90s, 15m, 12h, 30d or 4w")
    try:
        return timedelta(seconds=float(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise UsageError(f"{text} is too long ago; give a shorter time") from None


def moment(option: str, text: str | None) -> int | None:
    """Nanoseconds since 1970 of `2026-11-15T12:00`, taken as UTC unless it says, or of `2h` ago."""
    if text is None:
        return None
    if _AGO.fullmatch(text.strip()):
        when = datetime.now(UTC) - period(text)
    else:
        try:
            when = datetime.fromisoformat(text.strip())
        except ValueError:
            raise UsageError(
                f"invalid {option} {text!r}; give a time such as 2026-11-15T12:00 (UTC) or 2h (ago)"
            ) from None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (since // timedelta(microseconds=1)) * 1000


class StoreQuery:
    """The tables of a store as far as a question reaches."""

    def __init__(self, store: Store, engine: Engine, question: Question) -> None:
        self.store = store
        self.engine = engine
        self.question = question
        self.parts = [part for part in store.parts if self._may_hold(part)]
        self._tables: dict[str, Any] = {}

    def _may_hold(self, part: Part) -> bool:
        """By the part's name alone."""
        question = self.question
        if question.start_ns is not None and part.end_s * SECOND < question.start_ns:
            return False
        if question.end_ns is not None and part.begin_s * SECOND >= question.end_ns:
            return False
        return all(one.allows(part.service) for one in question.where if one.label == "service")

    def _table(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = self.engine.table(self.store.location, name, self.parts)
        return self._tables[name]

    @cached_property
    def recordings(self) -> Any:
        table = self._table("recordings")
        for condition in self.question.where:
            table = table.filter(condition.expression(table))
        start, end = self.question.start_ns, self.question.end_ns
        if start is not None:
            table = table.filter(table.base_ns + table.duration_ns > start)
        if end is not None:
            table = table.filter(table.base_ns < end)
        return table

    @cached_property
    def threads(self) -> Any:
        table = self._table("threads")
        if self.question.where:
            table = table.semi_join(self.recordings, "recording")
        if self.question.process is not None:
            table = table.filter(table.pid == self.question.process)
        thread = self.question.thread
        if thread is not None:
            named = table.name == thread
            if thread.isdecimal():
                named |= table.tid == int(thread)
            table = table.filter(named)
        return table

    def _of_threads(self, table: Any) -> Any:
        question = self.question
        if question.where or question.process is not None or question.thread is not None:
            return table.semi_join(self.threads, "thread")
        return table

    @cached_property
    def samples(self) -> Any:
        """The samples meant, with the `ns` that each stands for in the range of time.

        A running one is in the range or out of it; of a wait the part inside counts.
        """
        table = self._of_threads(self._table("samples"))
        running = table.state == RUNNING
        if self.question.time == "running":
            table = table.filter(running)
        elif self.question.time == "waiting":
            table = table.filter(~running)
        start, end = self.question.start_ns, self.question.end_ns
        if start is None and end is None:
            return table.mutate(ns=table.weight)
        running = table.state == RUNNING
        until = table.time if end is None else ibis.least(table.time, ibis.literal(end, "int64"))
        since = table.time - table.weight
        if start is not None:
            since = ibis.greatest(since, ibis.literal(start, "int64"))
        inside = until - since
        among = ibis.literal(True)
        if start is not None:
            among &= table.time >= start
        if end is not None:
            among &= table.time < end
        table = table.mutate(ns=ibis.ifelse(running, table.weight, inside))
        return table.filter(ibis.ifelse(running, among, inside > 0))

    @cached_property
    def blames(self) -> Any:
        """The parts of waits for locks in the range of time, `ns` being what lies inside."""
        table = self._of_threads(self._table("blames"))
        start, end = self.question.start_ns, self.question.end_ns
        until = table.start + table.ns
        since = table.start
        if start is not None:
            table = table.filter(table.start + table.ns > start)
            since = ibis.greatest(table.start, ibis.literal(start, "int64"))
        if end is not None:
            table = table.filter(table.start < end)
            until = ibis.least(table.start + table.ns, ibis.literal(end, "int64"))
        if start is None and end is None:
            return table
        return table.mutate(ns=until - since)

    @cached_property
    def steps(self) -> Any:
        table = self._of_threads(self._table("steps"))
        start, end = self.question.start_ns, self.question.end_ns
        if start is not None:
            table = table.filter(table.time > start)
        if end is not None:
            table = table.filter(table.time <= end)
        return table

    def _begun(self, name: str) -> Any:
        """Windows in which calls were counted, or those calls: by when the window was opened."""
        table = self._of_threads(self._table(name))
        start, end = self.question.start_ns, self.question.end_ns
        if start is not None:
            table = table.filter(table.time >= start)
        if end is not None:
            table = table.filter(table.time < end)
        return table

    @cached_property
    def windows(self) -> Any:
        return self._begun("windows")

    @cached_property
    def calls(self) -> Any:
        return self._begun("calls")

    @cached_property
    def chains(self) -> Any:
        table = self._table("chains")
        return table.semi_join(self.recordings, "recording") if self.question.where else table

    @cached_property
    def functions(self) -> Any:
        """Each once, though several parts name it."""
        table = self._table("functions")
        return table.group_by("function").aggregate(
            name=table.name.max(),
            file=table.file.max(),
            line=table.line.max(),
            runtime=table.runtime.max(),
            instructions=table.instructions.max(),
        )

    @cached_property
    def contexts(self) -> Any:
        table = self._table("contexts")
        return table.group_by("context").aggregate(
            parent=table.parent.max(),
            function=table.function.max(),
            line=table.line.max(),
            depth=table.depth.max(),
        )

    @cached_property
    def several(self) -> bool:
        """Whether more than one recording is asked about: then threads and locks of one name are
        one thing, as functions are."""
        return int(self.recordings.count().to_pyarrow().as_py()) > 1
