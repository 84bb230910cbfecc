"""Who waited for what over many recordings, and the owners it is attributed to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ibis

from sonde.fleet.queries.contexts import Contexts, contexts_of
from sonde.views.locks.locks import DEFAULT, Chain, Locks, LocksRow, in_order
from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.fleet.queries.query import StoreQuery

MAX_LENGTH = 62
"""Buckets of the histogram: powers of two nanoseconds."""

_SHARED = {"lock": "lock_shared", "waiter_thread": "waiter_name", "owner_thread": "owner_name"}
"""Columns to use where several recordings are asked about, in which names are not unique."""


def locks(asked: StoreQuery, *, by: Sequence[str] = DEFAULT, top: int | None = None) -> Locks:
    """The same as the view of one recording; chains are of whole recordings only."""
    return _Locks(asked, tuple(by)).result(top)


@dataclass
class _Sums:
    wait_ns: int = 0
    signalling_ns: int = 0
    after_notification_ns: int = 0
    count: int = 0
    max_ns: int = 0
    histogram: list[tuple[int, int]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """The waits of one length of the histogram."""
        self.wait_ns += row["wait_ns"]
        self.signalling_ns += row["signalling_ns"]
        self.after_notification_ns += row["after_notification_ns"]
        self.count += row["count"]
        self.max_ns = max(self.max_ns, row["max_ns"])
        self.histogram.append((1 << row["bucket"], row["count"]))


class _Locks:
    def __init__(self, asked: StoreQuery, by: tuple[str, ...]) -> None:
        self.asked = asked
        self.by = by
        shared = _SHARED if asked.several else {}
        self.columns = [shared.get(aspect, aspect) for aspect in by]
        self.links = "links_shared" if asked.several else "links"

    @cached_property
    def contexts(self) -> Contexts:
        return contexts_of(self.asked)

    def result(self, top: int | None) -> Locks:
        blames = self.asked.blames
        unknown = blames.filter(blames.owner_thread.isnull()).ns.sum().to_pyarrow().as_py()
        undecided = self.asked.recordings.undecided.sum().to_pyarrow().as_py()
        everything = self._summed([]).get((), _Sums())
        return Locks(
            by=self.by,
            total_ns=everything.wait_ns,
            signalling_ns=everything.signalling_ns,
            after_notification_ns=everything.after_notification_ns,
            unknown_ns=unknown or 0,
            count=everything.count,
            undecided=undecided or 0,
            rows=self._rows(top),
            chains=self._chains(top),
        )

    def _summed(self, columns: list[str]) -> dict[tuple[Any, ...], _Sums]:
        """The waiting below each combination of values in these columns."""
        blames = self.asked.blames
        # Stores have it from schema 2 on.
        known = "after_notification" in blames.columns
        notified = blames.after_notification if known else ibis.literal(False)
        waits = blames.group_by([*columns, "wait"]).aggregate(
            ns=blames.ns.sum(),
            signals=ibis.ifelse(blames.signalling, blames.ns, 0).sum(),
            notified=ibis.ifelse(notified, blames.ns, 0).sum(),
        )
        # Counting the powers of two below is exact in every engine; a logarithm is in none.
        bucket = ibis.literal(0, "int64")
        for power in range(MAX_LENGTH):
            bucket += (waits.ns > ibis.literal(1 << power, "int64")).cast("int64")
        waits = waits.mutate(bucket=bucket)
        buckets = waits.group_by([*columns, "bucket"]).aggregate(
            wait_ns=waits.ns.sum(),
            signalling_ns=waits.signals.sum(),
            after_notification_ns=waits.notified.sum(),
            count=waits.count(),
            max_ns=waits.ns.max(),
        )
        found: dict[tuple[Any, ...], _Sums] = {}
        for row in buckets.to_pyarrow().to_pylist():
            found.setdefault(tuple(row[column] for column in columns), _Sums()).add(row)
        return found

    def _rows(self, top: int | None) -> list[LocksRow]:
        children: dict[tuple[Any, ...], list[LocksRow]] = {}
        for level in reversed(range(len(self.by))):
            families: dict[tuple[Any, ...], list[LocksRow]] = {}
            for key, of in self._summed(self.columns[: level + 1]).items():
                made = LocksRow(
                    self.by[level],
                    self._told(self.by[level], key[-1]),
                    of.wait_ns,
                    of.signalling_ns,
                    of.after_notification_ns,
                    of.count,
                    of.max_ns,
                    sorted(of.histogram),
                    children.get(key, []),
                )
                families.setdefault(key[:-1], []).append(made)
            for family in families.values():
                in_order(family)
                if top is not None:
                    del family[top:]
            children = families
        return children.get((), [])

    def _told(self, aspect: str, value: Any) -> Any:
        if aspect.endswith("_function"):
            return self.contexts.functions.to_json(value)
        if aspect.endswith("_chain"):
            return self.contexts.chain(value)
        return value

    def _chains(self, top: int | None) -> list[Chain]:
        if self.asked.question.of_part:
            return []
        table = self.asked.chains
        rows = table.group_by(self.links).aggregate(wait_ns=table.wait_ns.sum()).to_pyarrow()
        made = [
            Chain(
                [(link["lock"], _function(link["owner_function"])) for link in json.loads(links)],
                wait_ns,
            )
            for links, wait_ns in zip(
                rows[self.links].to_pylist(), rows["wait_ns"].to_pylist(), strict=True
            )
        ]
        ordered = sorted(made, key=lambda chain: (-chain.wait_ns, json.dumps(chain.to_json())))
        return ordered[:top]


def _function(fields: dict[str, Any] | None) -> Function | None:
    return None if fields is None else Function(**fields)


@dataclass(frozen=True)
class Blocker:
    """A function of the program that keeps others waiting for a lock."""

    function: dict[str, Any] | None
    """None: who held the lock could not be known."""
    kind: str
    lock: str
    wait_ns: int
    count: int
    processes: int
    hosts: int

    def to_json(self) -> dict[str, Any]:
        return {
            "owner_function": self.function,
            "kind": self.kind,
            "lock": self.lock,
            "wait_ns": self.wait_ns,
            "count": self.count,
            "processes": self.processes,
            "hosts": self.hosts,
        }


@dataclass(frozen=True)
class Blockers:
    """The greatest first."""

    total_ns: int
    """All waiting for locks, that for signals left out: an empty queue has no owner."""
    rows: list[Blocker]

    def to_json(self) -> dict[str, Any]:
        return {"total_ns": self.total_ns, "rows": [row.to_json() for row in self.rows]}


def blockers(asked: StoreQuery, *, top: int | None = None) -> Blockers:
    """Which functions keep the fleet waiting, through which locks, in how many places."""
    blames = asked.blames
    blames = blames.filter(~blames.signalling)
    threads = asked.threads.select("thread", "process", "recording")
    recordings = asked.recordings.select("recording", "host")
    placed = blames.join(threads, "thread").join(recordings, "recording")
    rows = (
        placed.group_by("owner_own", "kind", "lock_shared")
        .aggregate(
            wait_ns=placed.ns.sum(),
            count=placed.wait.nunique(),
            processes=placed.process.nunique(),
            hosts=placed.host.nunique(),
        )
        .to_pyarrow()
        .to_pylist()
    )
    functions = contexts_of(asked).functions
    made = [
        Blocker(
            functions.to_json(row["owner_own"]),
            row["kind"],
            row["lock_shared"],
            row["wait_ns"],
            row["count"],
            row["processes"],
            row["hosts"],
        )
        for row in rows
    ]
    made.sort(key=lambda row: (-row.wait_ns, json.dumps(row.to_json())))
    return Blockers(sum(row.wait_ns for row in made), made[:top])
