"""Who waits for whom at one moment, and will it ever end?

What the graph is made from are plain waits (`Wait`), so that a live look at a process can draw it
from what it sees as well as a recording can from its events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.locks.contention import OPEN, UNKNOWN
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.locks.wait_graph import Edge, wait_graph
from sonde.row_values import ACQUIRED
from sonde.views.locks.contentions import contended
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.recording.tables import Recording
    from sonde.views.locks.contentions import Contended
    from sonde.views.selecting.profile import Function

    Frames = list[tuple[Function, int]]


@dataclass(frozen=True)
class Wait:
    """One thread that waits, and who has what it waits for, as far as that is known."""

    thread: str
    tid: int
    process: int
    lock: str
    short: str
    """The lock as a sentence calls it."""
    kind: str
    signalling: bool
    waited_ns: int
    chain: Frames
    """Functions with the lines executed in them, outermost first."""
    owner_thread: str | None = None
    owner_tid: int | None = None
    owner_chain: Frames | None = None
    open: bool = False
    """It lasted until the end of the recording."""
    before: bool = False
    """It began before the recording did, so it has lasted longer than is known."""

    def to_json(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "tid": self.tid,
            "process": self.process,
            "lock": self.lock,
            "kind": self.kind,
            "signalling": self.signalling,
            "waited_ns": self.waited_ns,
            "chain": _told(self.chain),
            "owner_thread": self.owner_thread,
            "owner_tid": self.owner_tid,
            "owner_chain": None if self.owner_chain is None else _told(self.owner_chain),
            "open": self.open,
            "before": self.before,
        }


@dataclass(frozen=True)
class Waits:
    """The waits of one moment; chains and deadlocks are their places in the list."""

    at_ns: int | None
    """Since the recording's start; None: now."""
    why: str
    """What is special about the moment."""
    waits: list[Wait]
    chains: list[list[int]]
    """From a waiter that nobody waits for to the one at its root."""
    deadlocks: list[list[int]]
    """Each waits for the next, and the last for the first."""

    def to_json(self) -> dict[str, Any]:
        return {
            "at_ns": self.at_ns,
            "why": self.why,
            "waits": [wait.to_json() for wait in self.waits],
            "chains": self.chains,
            "deadlocks": self.deadlocks,
        }


def graph_of(waits: Sequence[Wait], at_ns: int | None = None, why: str = "") -> Waits:
    """Chains and cycles of the given waits, those that have waited longest first."""
    ordered = sorted(waits, key=lambda wait: -wait.waited_ns)
    threads = {(wait.process, wait.tid): i for i, wait in enumerate(ordered)}
    locks: dict[tuple[str, str], int] = {}
    edges = []
    for i, wait in enumerate(ordered):
        # Somebody's signal is awaited from whoever gives it; only a lock has an owner.
        binding = wait.owner_tid is not None and (not wait.signalling or wait.kind == "join")
        owner = threads.get((wait.process, wait.owner_tid or 0), UNKNOWN) if binding else None
        lock = locks.setdefault((wait.kind, wait.lock), len(locks))
        edges.append(Edge(i, lock, owner))
    graph = wait_graph(edges)
    return Waits(at_ns, why, ordered, graph.chains, graph.cycles)


def waits(
    recording: Recording, selection: Selection | None = None, *, at_ns: int | None = None
) -> Waits:
    """Who waited at a moment of the recording.

    Unless given, that is the recording's end if a thread waited for a lock until then, else the
    moment at which most did.
    """
    everything = contended(recording)
    _, rows = everything.rows(selection or Selection())
    why = ""
    if at_ns is None:
        at_ns, why = _moment(everything, rows)
    found = everything.found
    now = (found.start[rows] <= at_ns) & (
        (found.end[rows] > at_ns) | ((found.outcome[rows] == OPEN) & (found.end[rows] == at_ns))
    )
    waiting = [_wait(everything, row, at_ns) for row in rows[now].tolist()]
    return graph_of(waiting, at_ns, why)


def _moment(everything: Contended, rows: np.ndarray[Any, Any]) -> tuple[int, str]:
    found = everything.found
    owned = rows[~everything.signalling[rows]]
    never = owned[found.outcome[owned] == OPEN]
    if len(never):
        return int(found.end[never].max()), "the end, with threads still waiting for locks"
    if not len(owned):
        owned = rows
    if not len(owned):
        return 0, "no waits"
    times = np.concatenate([found.start[owned], found.end[owned]])
    step = np.repeat([1, -1], len(owned))
    order = np.lexsort((step, times))
    most = int(np.argmax(np.cumsum(step[order])))
    return int(times[order][most]), "when most threads waited for locks"


def _wait(everything: Contended, row: int, at_ns: int) -> Wait:
    found, threads = everything.found, everything.recording.threads
    names, code = everything.thread_names
    chains = everything.chains
    thread = int(found.thread[row])
    owner, context = _owner(everything, row, at_ns)
    known = owner != UNKNOWN
    lock = everything.locks[int(everything.lock[row])]
    return Wait(
        thread=names[int(code[thread])],
        tid=int(threads.tid[thread]),
        process=everything.recording.processes[int(threads.process[thread])].pid,
        lock=lock.name,
        short=lock.short,
        kind=KINDS[int(everything.kind[row])],
        signalling=bool(everything.signalling[row]),
        waited_ns=max(0, at_ns - int(found.start[row])),
        chain=chains.frames(int(chains.node[int(found.context[row])])),
        owner_thread=names[int(code[owner])] if known else None,
        owner_tid=int(threads.tid[owner]) if known else None,
        owner_chain=chains.frames(int(chains.node[context])) if context != UNKNOWN else None,
        open=bool(found.outcome[row] == OPEN),
        before=bool(found.before[row]),
    )


def _owner(everything: Contended, row: int, at_ns: int) -> tuple[int, int]:
    """Who has what is waited for at the moment, and the chain that released it later."""
    found = everything.found
    holds = found.holds
    first, held = int(found.first[row]), int(found.held[row])
    owner, context = int(found.tail_thread[row]), int(found.tail_context[row])
    if found.whole[row]:
        return owner, context
    until = holds.until[first : first + held]
    place = int(np.searchsorted(until, at_ns, "right"))
    if place < held:
        hold = first + place
        unsure = bool(holds.gap[hold]) and not (place == 0 and bool(found.clean[row]))
        owner, context = int(holds.thread[hold]), int(holds.context[hold])
        return (UNKNOWN, UNKNOWN) if unsure else (owner, context)
    # After the last release it is being handed over: nobody has it.
    return (UNKNOWN, UNKNOWN) if found.outcome[row] == ACQUIRED else (owner, context)


def _told(frames: Frames) -> list[dict[str, Any]]:
    return [
        {**function.to_json(), "line": line, "first_line": function.line}
        for function, line in frames
    ]
