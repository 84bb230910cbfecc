"""Rules about waiting for one another: deadlocks, the GIL, locks that threads queue for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.model.lock_kinds import KINDS
from sonde.views.contended import contended
from sonde.views.evidence import Evidence, Finding, place
from sonde.views.locks import Chain, LocksRow, locks
from sonde.views.profile import Function
from sonde.views.span import duration_ns
from sonde.views.waits import Wait, waits
from sonde.views.words import count, duration, percent

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
MOST_LOCKS = 3
NAMES_SHOWN = 3


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
            + ("" if lasting else " until one gave up"),
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
    found = locks(
        evidence.recording,
        evidence.selection,
        by=("kind", "owner_own", "waiter_thread"),
        chains=False,
    )
    row = next((row for row in found.rows if row.value == "gil"), None)
    if row is None:
        return
    share = row.wait_ns / (row.wait_ns + evidence.running.total)
    if share < GIL:
        return
    owners = [child for child in row.children if child.value is not None]
    command = evidence.command("locks", "--by", "kind,owner_chain,waiter_thread")
    waited = (
        f"threads waited {duration(row.wait_ns)} for the GIL, "
        f"{percent(share)} of the time they could have run"
    )
    if not owners or owners[0].wait_ns < HOG * row.wait_ns:
        yield Finding(
            "threads wait for the GIL",
            f"{waited}; no single function is to blame",
            share,
            command,
        )
        return
    hog = Function(**owners[0].value)
    victims = [(child.value, child.wait_ns) for child in owners[0].children]
    yield Finding(
        f"{hog.name} keeps others from the GIL",
        f"{waited}, {percent(owners[0].wait_ns / row.wait_ns)} of it while {place(hog)} "
        f"had it; waited for by {_victims(victims)}, {duration(owners[0].max_ns)} at the longest",
        share,
        command,
    )


def contended_locks(evidence: Evidence) -> Iterator[Finding]:
    """The heaviest locks, each with who waits most for it and because of whom."""
    if not _worth_a_look(evidence, gil=False):
        return
    found = locks(
        evidence.recording,
        evidence.selection,
        by=("kind", "lock", "waiter_own", "owner_own"),
    )
    owned = [
        row
        for kind in found.rows
        if kind.value != "gil"
        for row in kind.children
        if not row.signalling
    ]
    owned.sort(key=lambda row: -row.wait_ns)
    shorts = {lock.name: lock.short for lock in contended(evidence.recording).locks}
    wanted = evidence.running.total + sum(row.wait_ns for row in owned)
    for row in owned[:MOST_LOCKS]:
        share = row.wait_ns / wanted
        if share < CONTENDED or not _noticed(row.wait_ns, evidence):
            return
        yield _contended(evidence, row, owned, found.chains, share, shorts)


def _noticed(wait_ns: int, evidence: Evidence) -> bool:
    chosen = evidence.selection
    end = duration_ns(evidence.recording) if chosen.end_ns is None else chosen.end_ns
    return wait_ns >= max(LEAST_NS, LEAST * (end - (chosen.start_ns or 0)))


def _contended(
    evidence: Evidence,
    row: LocksRow,
    owned: list[LocksRow],
    chains: list[Chain],
    share: float,
    shorts: dict[str, str],
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
            f"{percent(owner.wait_ns / inside)} of the waiting in "
            f"{place(Function(**waiter.value))} was caused by {place(Function(**owner.value))} "
            f"holding {shorts[row.value]}; {said}"
        )
        passed = _passed_on(row, owner, chains, shorts)
        if passed:
            said += f"; {passed}"
    return Finding(
        f"threads queue for {shorts[row.value]}",
        said,
        share,
        evidence.command("locks", "--by", "lock,owner_chain,waiter_chain"),
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
    return f"in {percent(ns / owner.wait_ns)} of that {holder.name} itself waited for {the}{by}"


def _holder(wait: Wait) -> str:
    return "it has itself" if wait.owner_tid == wait.tid else f"{wait.owner_thread} has"


def _where(wait: Wait) -> str:
    for function, line in reversed(wait.chain):
        if function.line:
            return place(function._replace(line=line))
    return wait.chain[-1][0].name if wait.chain else "an unknown place"


def _victims(victims: Sequence[tuple[str, int]]) -> str:
    told = [f"{name} ({duration(ns)})" for name, ns in victims[:NAMES_SHOWN]]
    rest = len(victims) - len(told)
    return ", ".join(told) + (f" and {count(rest, 'more thread')}" if rest > 0 else "")


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb
