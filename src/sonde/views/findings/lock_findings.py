"""Rules about waiting for one another: deadlocks, the GIL, locks that threads queue for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sonde.model.locks.holder_activity import MIN_SAMPLES
from sonde.model.locks.lock_kinds import KINDS
from sonde.row_values import RUNNING
from sonde.views.findings.evidence import Evidence, Finding, place
from sonde.views.locks.contentions import contended
from sonde.views.locks.held_in import RELEASED_FUNCTION
from sonde.views.locks.locks import Chain, Locks, LocksRow, locks
from sonde.views.locks.wait_graph import Wait, waits
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.formatting import count, duration, percent
from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GIL = 0.10
"""Of the time threads ran or waited for the GIL."""
HOG = 0.50
"""Of the waiting for the GIL: one function that causes as much is named."""
CONTENDED = 0.05
"""Of the time threads ran or waited for locks that others had."""
LEAST_NS = 50_000_000
"""Less waiting than this nobody notices, whatever the share ..."""
LEAST = 0.005
"""... nor in a long recording less than this share of it."""
CONTENTION = "contention for "
MAX_LOCKS = 3
NAMES_SHOWN = 3
FUNCTIONS_SHOWN = 3
SHOWN = 0.05
"""Of the waiting: functions of a holder below this share are not worth a word."""
TOO_FEW = f"fewer than {MIN_SAMPLES} CPU samples"


def deadlocks(evidence: Evidence) -> Iterator[Finding]:
    if not len(evidence.recording.lock_events):
        return
    # A choice of threads must not take the others out of the circle.
    found = waits(evidence.recording)
    for cycle in found.deadlocks:
        stuck = [found.waits[i] for i in cycle]
        names = [wait.thread for wait in stuck]
        steps = [
            f"{wait.thread} waits in {_where(wait)} for {wait.short}, which {_holder(wait)}"
            for wait in stuck
        ]
        behind = sum(
            1 for chain in found.chains if chain[-1] in cycle for i in chain if i not in cycle
        )
        if behind:
            steps.append(f"{count(behind, 'more thread')} {_verb(behind, 'wait')} behind them")
        lasting = all(wait.open for wait in stuck)
        yield Finding(
            f"deadlock of {' and '.join(names)}"
            + (" with itself" if len(names) == 1 else "")
            + ("" if lasting else " until one timed out"),
            "; ".join(steps),
            1.0,
            evidence.command("waits"),
        )


def _worth_a_look(evidence: Evidence, *, gil: bool) -> bool:
    """Whether there is enough waiting for the GIL, or for locks, that a rule may speak at all."""
    everything = contended(evidence.recording)
    found, rows = everything.rows(evidence.selection)
    asked = rows[(everything.kind[rows] == KINDS.index("gil")) == gil]
    asked = asked[~everything.signalling[asked]]
    return _noticed(int(found.length[asked].sum()), evidence)


def gil(evidence: Evidence) -> Iterator[Finding]:
    if not _worth_a_look(evidence, gil=True):
        return
    row = _gil_row(evidence, "held_in_own")
    if row is None:
        return
    share = row.wait_ns / (row.wait_ns + evidence.running.total)
    if share < GIL:
        return
    unknown = sum(child.wait_ns for child in row.children if child.value is None)
    sampled = unknown < HOG * row.wait_ns
    if not sampled:
        row = _gil_row(evidence, "owner_own") or row
    holders = [child for child in row.children if _is_function(child)]
    command = evidence.command(
        "locks", "--by", f"kind,{'held_in_chain' if sampled else 'owner_chain'},waiter_thread"
    )
    waited = (
        f"threads waited {duration(row.wait_ns)} for the GIL, "
        f"{percent(share)} of the time they could have run"
    )
    if not holders or holders[0].wait_ns < HOG * row.wait_ns:
        yield Finding(
            "threads wait for the GIL",
            f"{waited}; no single function held it for most of that time",
            share,
            command,
        )
        return
    hog = holders[0]
    function = Function(**hog.value)
    if sampled:
        how = f"ran ({count(hog.samples or 0, 'CPU sample')})"
    else:
        how = f"held it (it released the GIL; {TOO_FEW})"
    victims = [(child.value, child.wait_ns) for child in hog.children]
    yield Finding(
        f"{function.name} holds the GIL while others wait",
        f"{waited}, {percent(hog.wait_ns / row.wait_ns)} of it while {place(function)} {how}; "
        f"waiters: {_victims(victims)}; longest wait {duration(hog.max_ns)}",
        share,
        command,
    )


def _gil_row(evidence: Evidence, holder: str) -> LocksRow | None:
    by = ("kind", holder, "waiter_thread")
    found = locks(evidence.recording, evidence.selection, by=by, chains=False)
    return next((row for row in found.rows if row.value == "gil"), None)


def contended_locks(evidence: Evidence) -> Iterator[Finding]:
    """The most contended locks, each with who waits most for it and because of whom.

    Where no single lock is, the most contended classes of locks.
    """
    if not _worth_a_look(evidence, gil=False):
        return
    everything = contended(evidence.recording)
    shorts = {lock.name: lock.short for lock in everything.locks}
    found = list(_contended_by(evidence, "lock", shorts))
    if not found:
        names, of = everything.lock_classes
        counts = np.bincount(of, minlength=len(names)).tolist()
        for finding in _contended_by(evidence, "lock_class", dict(zip(names, names, strict=True))):
            number = counts[names.index(finding.title.removeprefix(CONTENTION))]
            many = f" ({count(number, 'lock')})" if number > 1 else ""
            found.append(replace(finding, title=finding.title + many))
    yield from found


def _contended_by(evidence: Evidence, aspect: str, shorts: dict[str, str]) -> Iterator[Finding]:
    by = ("kind", aspect, "waiter_own", "owner_own")
    found = locks(
        evidence.recording,
        evidence.selection,
        by=by,
        chains=aspect == "lock",
        notifications=False,
    )
    owned = _owned(found)
    wanted = evidence.running.total + sum(row.wait_ns for row in owned)
    doing: dict[str, LocksRow] | None = None
    for row in owned[:MAX_LOCKS]:
        share = row.wait_ns / wanted
        if share < CONTENDED or not _noticed(row.wait_ns, evidence):
            return
        if doing is None:
            by_held = ("kind", aspect, "held_in_own")
            held = locks(
                evidence.recording,
                evidence.selection,
                by=by_held,
                chains=False,
                notifications=False,
            )
            doing = {held_row.value: held_row for held_row in _owned(held)}
        inside = _inside(doing[row.value], _waits_recorded(evidence))
        yield _contended(evidence, aspect, row, owned, found.chains, share, shorts, inside)


def _owned(found: Locks) -> list[LocksRow]:
    """The rows of locks that another thread held, the most contended first."""
    owned = [row for kind in found.rows if kind.value != "gil" for row in kind.children]
    return sorted(owned, key=lambda row: -row.wait_ns)


def _is_function(row: LocksRow) -> bool:
    return row.value is not None and Function(**row.value) != RELEASED_FUNCTION


def _waits_recorded(evidence: Evidence) -> bool:
    return bool((evidence.recording.samples.state != RUNNING).any())


def _inside(row: LocksRow, waits_recorded: bool) -> str:
    """What the holders did while others waited."""
    known = [child for child in row.children if _is_function(child)]
    unknown = sum(child.wait_ns for child in row.children if child.value is None)
    shown = [
        f"{percent(child.wait_ns / row.wait_ns)} in {place(Function(**child.value))}"
        for child in known[:FUNCTIONS_SHOWN]
        if child.wait_ns >= SHOWN * row.wait_ns
    ]
    said = ""
    if shown:
        samples = sum(child.samples or 0 for child in known)
        rests_on = [count(samples, "CPU sample")] if samples else []
        rests_on += ["recorded waits"] if waits_recorded else []
        said = f"of that time the holders spent {', '.join(shown)}"
        if rests_on:
            said += f" ({' and '.join(rests_on)})"
    if unknown < HOG * row.wait_ns:
        return said
    share = percent(unknown / row.wait_ns)
    if waits_recorded:
        return said or f"what the holders did is unknown: {TOO_FEW}"
    off = (
        f"for {share} of that time the holders were off CPU or not sampled; "
        "record with --what +waits to see where"
    )
    return f"{said}; {off}" if said else off


def _noticed(wait_ns: int, evidence: Evidence) -> bool:
    chosen = evidence.selection
    end = duration_ns(evidence.recording) if chosen.end_ns is None else chosen.end_ns
    return wait_ns >= max(LEAST_NS, LEAST * (end - (chosen.start_ns or 0)))


def _contended(
    evidence: Evidence,
    aspect: str,
    row: LocksRow,
    owned: list[LocksRow],
    chains: list[Chain],
    share: float,
    shorts: dict[str, str],
    inside_holds: str,
) -> Finding:
    waiter = next((child for child in row.children if child.value is not None), None)
    owner = None
    if waiter is not None:
        owner = next((child for child in waiter.children if child.value is not None), None)
    said = (
        f"{count(row.count, 'wait')} took {duration(row.wait_ns)}, "
        f"the longest {duration(row.max_ns)}"
    )
    if waiter is not None and owner is not None:
        inside = sum(
            child.wait_ns
            for other in owned
            for child in other.children
            if child.value == waiter.value
        )
        said = (
            f"{percent(owner.wait_ns / inside)} of the wait time in "
            f"{place(Function(**waiter.value))} is attributed to {place(Function(**owner.value))}, "
            f"which held {shorts[row.value]}; {said}"
        )
        passed = _passed_on(row, owner, chains, shorts)
        inside_holds = passed or inside_holds
    if inside_holds:
        said += f"; {inside_holds}"
    return Finding(
        CONTENTION + shorts[row.value],
        said,
        share,
        evidence.command("locks", "--by", f"{aspect},owner_chain,waiter_chain"),
    )


def _passed_on(
    row: LocksRow, owner: LocksRow, chains: Sequence[Chain], shorts: dict[str, str]
) -> str:
    """What the owner waited for itself, if that is most of it."""
    holder = Function(**owner.value)
    behind: dict[tuple[str, Function | None], int] = {}
    for chain in chains:
        if chain.links[0] == (row.value, holder):
            behind[chain.links[-1]] = behind.get(chain.links[-1], 0) + chain.wait_ns
    if not behind:
        return ""
    (lock, root), ns = max(behind.items(), key=lambda item: item[1])
    if ns < HOG * owner.wait_ns:
        return ""
    the = f"the {lock}" if lock.startswith("GIL") else shorts[lock]
    by = f", held by {place(root)}" if root is not None else ""
    return f"for {percent(ns / owner.wait_ns)} of that time {holder.name} was waiting for {the}{by}"


def _holder(wait: Wait) -> str:
    return "it holds itself" if wait.owner_tid == wait.tid else f"{wait.owner_thread} holds"


def _where(wait: Wait) -> str:
    for function, line in reversed(wait.chain):
        if function.line:
            return place(function._replace(line=line))
    return wait.chain[-1][0].name if wait.chain else "an unknown location"


def _victims(victims: Sequence[tuple[str, int]]) -> str:
    shown = [f"{name} ({duration(ns)})" for name, ns in victims[:NAMES_SHOWN]]
    rest = len(victims) - len(shown)
    return ", ".join(shown) + (f" and {count(rest, 'more thread')}" if rest > 0 else "")


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb
