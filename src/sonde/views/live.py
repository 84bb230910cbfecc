"""What did a process do in the last seconds? Other views' answers for one window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.views.locks.lock_table import LockTable, lock_table
from sonde.views.locks.locks import locks
from sonde.views.locks.wait_graph import Waits, waits
from sonde.views.quality import Quality, quality
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import Flat, flat
from sonde.views.stacks.history import History, history
from sonde.views.stacks.lines import Lines, lines
from sonde.views.threads import Threads, threads

if TYPE_CHECKING:
    from sonde.recording.tables import Process, Recording

SECOND = 1_000_000_000
HISTORY_NS = 60 * SECOND
PARTS = 12
"""Of a sparkline."""


@dataclass(frozen=True)
class Gil:
    """Waiting for the GIL, and who had it meanwhile; None is an owner that could not be known."""

    wait_ns: int
    waits: int
    waiting_now: int
    held_ns: dict[str | None, int]
    """By thread, most first: the part of the waiting that is attributed to it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "wait_ns": self.wait_ns,
            "waits": self.waits,
            "waiting_now": self.waiting_now,
            "held_by": [{"thread": name, "wait_ns": ns} for name, ns in self.held_ns.items()],
        }


@dataclass(frozen=True)
class TopBlocker:
    """The call stack that most of the waiting for a lock is attributed to, outermost first."""

    chain: list[dict[str, Any]] | None
    wait_ns: int


@dataclass(frozen=True)
class Live:
    """The last seconds of a recording."""

    process: int | None
    """Whose; None: of all that are recorded."""
    start_ns: int
    end_ns: int
    processes: list[Process]
    flat: Flat
    lines: Lines | None
    history: History
    threads: Threads
    locks: LockTable
    worst: dict[str, TopBlocker]
    """By lock."""
    gil: Gil
    waits: Waits
    """Who waits at the end of the window."""
    quality: Quality

    @property
    def span_ns(self) -> int:
        return max(1, self.end_ns - self.start_ns)

    @property
    def cpu_ns(self) -> int:
        return sum(row.cpu_ns for row in self.threads.rows)

    @property
    def wait_ns(self) -> dict[str, int]:
        """By kind, most first."""
        totals: dict[str, int] = {}
        for row in self.threads.rows:
            for kind, ns in row.wait_ns.items():
                totals[kind] = totals.get(kind, 0) + ns
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    def to_json(self) -> dict[str, Any]:
        locks = self.locks.to_json()
        for row in locks["rows"]:
            worst = self.worst.get(row["lock"])
            row["owner_chain"] = worst.chain if worst else None
            row["owner_chain_ns"] = worst.wait_ns if worst else 0
        return {
            "process": self.process,
            "from_ns": self.start_ns,
            "to_ns": self.end_ns,
            "cpu_ns": self.cpu_ns,
            "wait_ns": self.wait_ns,
            "flat": self.flat.to_json(),
            "history": self.history.to_json(),
            "threads": self.threads.to_json(),
            "gil": self.gil.to_json(),
            "locks": locks,
            "waits": self.waits.to_json(),
            "quality": self.quality.to_json(),
        }


def live(
    recording: Recording,
    start_ns: int,
    end_ns: int,
    *,
    process: int | None = None,
    by_line: bool = False,
) -> Live:
    """The window from `start_ns` to `end_ns`, and the minute before its end as a history."""
    # Before the first words of any process there is none to choose.
    chosen = process if recording.processes else None
    selection = Selection("running", None, chosen, start_ns, end_ns)
    minute = Selection("running", None, chosen, end_ns - HISTORY_NS, end_ns)
    now = waits(recording, selection, at_ns=end_ns)
    table = lock_table(recording, selection)
    return Live(
        process=process,
        start_ns=start_ns,
        end_ns=end_ns,
        processes=recording.processes,
        flat=flat(recording, selection),
        lines=lines(recording, selection) if by_line else None,
        history=history(recording, minute, PARTS),
        threads=threads(recording, selection),
        locks=table,
        worst=_worst(recording, selection) if table.rows else {},
        gil=_gil(recording, selection, now),
        waits=now,
        quality=quality(recording),
    )


def _gil(recording: Recording, selection: Selection, now: Waits) -> Gil:
    waiting_now = sum(wait.kind == "gil" for wait in now.waits)
    if not len(recording.lock_events):
        return Gil(0, 0, waiting_now, {})
    by_kind = locks(recording, selection, by=("kind", "owner_thread"), chains=False)
    for row in by_kind.rows:
        if row.value == "gil":
            held = {child.value: child.wait_ns for child in row.children}
            return Gil(row.wait_ns, row.count, waiting_now, held)
    return Gil(0, 0, waiting_now, {})


def _worst(recording: Recording, selection: Selection) -> dict[str, TopBlocker]:
    by_lock = locks(recording, selection, by=("lock", "owner_chain"), chains=False)
    worst: dict[str, TopBlocker] = {}
    for row in by_lock.rows:
        known = [child for child in row.children if child.value is not None]
        if known:
            worst[row.value] = TopBlocker(known[0].value, known[0].wait_ns)
    return worst
