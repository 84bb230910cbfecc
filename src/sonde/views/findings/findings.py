"""What would an experienced reader of this recording point at first?

Each rule is a generator over the evidence and stays silent below its thresholds.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np

from sonde.model.trees.context_tree import Flags, sums
from sonde.row_values import BUILT_IN
from sonde.views.findings.evidence import Evidence, Finding, place
from sonde.views.findings.free_threading import locks_without_gil
from sonde.views.findings.lock_findings import contended_locks, deadlocks, gil
from sonde.views.findings.loop_findings import blocked_loops, slow_steps
from sonde.views.findings.memory_findings import growing_sites
from sonde.views.findings.steal_findings import taken_by_others
from sonde.views.quality import quality, standard_error
from sonde.views.selecting.formatting import percent
from sonde.views.selecting.own_code import is_own
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function, Profile

HOT = 0.25
MOST = 0.5
IMPORTING = 0.20
LOGGING = 0.10
COLLECTING = 0.10
WAITING_CHAIN = 0.50
WAITING_OF_WALL = 0.20
IMPORTLIB = "<frozen importlib._bootstrap>"
"""Every import calls its `_find_and_load`; other functions of it serve tools as well."""
MIN_SAMPLES = 30
"""A rule that rests on fewer samples than this would cry wolf."""
CHAIN_SHOWN = 4


def findings(recording: Recording, selection: Selection | None = None) -> list[Finding]:
    """Everything the rules have to say, the largest share first."""
    evidence = Evidence(recording, selection or Selection())
    found = [finding for rule in RULES for finding in rule(evidence)]
    return sorted(found, key=lambda finding: -finding.share)


def hot_functions(evidence: Evidence) -> Iterator[Finding]:
    found = evidence.running
    size, total = len(found.functions), found.total
    own = sums(found.function, found.own, size)
    samples = sums(found.function, found.samples, size)
    for f in np.flatnonzero((own >= HOT * total) & (samples >= MIN_SAMPLES)).tolist():
        function, share = found.functions[f], int(own[f]) / total
        if function.stands_in:
            continue
        error = 2 * standard_error(share, int(found.samples.sum()))
        detail = (
            f"{place(function)} has a self time of {percent(share)} ± {percent(error)} of the "
            "CPU time"
        )
        hottest = _hottest_line(evidence.running_lines, f)
        if hottest and function.file != BUILT_IN:
            line, part = hottest
            detail += f", {percent(part)} of that in line {line}"
        view = evidence.command("flat", "--top", "10")
        if (called := main_caller(evidence, f)) is not None:
            caller, part = called
            detail += f", {percent(part)} of that in calls by {place(caller)}"
            view = evidence.command("flat", "--mine", "--top", "10")
        yield Finding(f"{function.name} is hot", detail, share, view)


def main_caller(evidence: Evidence, function: int) -> tuple[Function, float] | None:
    """The program's own function that most of a library function's time is for, and how much."""
    found = evidence.running
    own = found.functions_where(is_own(evidence.recording, found.functions))
    nodes = np.flatnonzero(found.function == function)
    if own[nodes].any():
        return None
    callers = found.tree.nearest(own)[nodes]
    inside = callers >= 0
    if not inside.any():
        return None
    spent = sums(found.function[callers[inside]], found.own[nodes[inside]], 0)
    caller = int(np.argmax(spent))
    part = int(spent[caller]) / int(found.own[nodes].sum())
    return (found.functions[caller], part) if part > MOST else None


def hot_callers(evidence: Evidence) -> Iterator[Finding]:
    """Functions of the program's own that do little themselves, and have much done."""
    total = evidence.running.total
    samples = int(evidence.running.samples.sum())
    for row in evidence.own:
        alone = row.self_ns - sum(call.self_ns for call in row.calls)
        share = row.self_ns / total if total else 0.0
        if share < HOT or alone >= HOT * total or row.samples < MIN_SAMPLES or not row.calls:
            continue
        error = 2 * standard_error(share, samples)
        first = row.calls[0]
        yield Finding(
            f"{row.function.name} spends its time in libraries",
            f"{place(row.function)} and the libraries it calls used {percent(share)} ± "
            f"{percent(error)} of the CPU time, {percent(first.self_ns / row.self_ns)} of that in "
            f"{place(first.function)}",
            share,
            evidence.command("flat", "--mine", "--top", "10"),
        )


def importing(evidence: Evidence) -> Iterator[Finding]:
    found = evidence.running
    machinery = found.functions_where(
        [f.file == IMPORTLIB and f.name == "_find_and_load" for f in found.functions]
    )
    spent, samples, outer = _under(found, machinery)
    if spent < IMPORTING * found.total or samples < MIN_SAMPLES:
        return
    share = spent / found.total
    detail = f"importing modules used {percent(share)} of the CPU time"
    below = found.tree.nearest(outer) >= 0
    bodies = below & found.functions_where([f.name == "<module>" for f in found.functions])
    if bodies.any():
        totals = found.tree.totals(found.own)
        dearest = int(np.argmax(np.where(bodies, totals, -1)))
        file = found.functions[int(found.function[dearest])].file
        detail += (
            f"; the most expensive is {file} with {percent(int(totals[dearest]) / found.total)}"
        )
    yield Finding(
        "imports take much CPU time",
        detail,
        share,
        evidence.command("tree", "--merge-lines"),
    )


def logging(evidence: Evidence) -> Iterator[Finding]:
    yield from _out_of_proportion(
        evidence,
        [
            f.file.endswith(("/logging/__init__.py", "/logging/handlers.py"))
            for f in evidence.running.functions
        ],
        LOGGING,
        "logging takes much CPU time",
        "was spent in the logging package",
    )


def collecting(evidence: Evidence) -> Iterator[Finding]:
    yield from _out_of_proportion(
        evidence,
        [f.file == BUILT_IN and f.name == "gc.collect" for f in evidence.running.functions],
        COLLECTING,
        "garbage collection takes much CPU time",
        "was spent in gc.collect, which the program calls",
    )


def waiting_chain(evidence: Evidence) -> Iterator[Finding]:
    found = evidence.waiting
    total = found.total
    if not total or total < WAITING_OF_WALL * (total + evidence.running.total):
        return
    longest = int(np.argmax(found.own))
    share = int(found.own[longest]) / total
    if share < WAITING_CHAIN or found.functions[int(found.function[longest])].stands_in:
        return
    chain: list[str] = []
    node = longest
    while node >= 0 and len(chain) < CHAIN_SHOWN:
        chain.append(found.functions[int(found.function[node])].name)
        node = int(found.tree.parent[node])
    yield Finding(
        f"most off-CPU time is in {chain[0]}",
        f"{percent(share)} of the off-CPU time is in the call stack {' > '.join(reversed(chain))}",
        share,
        evidence.command("tree", "--waiting", "--merge-lines"),
    )


def poor_quality(evidence: Evidence) -> Iterator[Finding]:
    for problem in quality(evidence.recording).problems:
        yield Finding(
            problem.title,
            f"{problem.detail}; {problem.advice}",
            problem.share,
            shlex.join(["sonde", "report", evidence.recording.path, "quality"]),
        )


RULES: tuple[Callable[[Evidence], Iterator[Finding]], ...] = (
    hot_functions,
    hot_callers,
    importing,
    logging,
    collecting,
    waiting_chain,
    deadlocks,
    gil,
    locks_without_gil,
    contended_locks,
    blocked_loops,
    slow_steps,
    taken_by_others,
    growing_sites,
    poor_quality,
)


def _under(found: Profile, flags: Flags) -> tuple[int, int, Flags]:
    """Time and samples in and below the flagged nodes, and the outermost of these."""
    alone = np.arange(1, len(found.tree) + 1)
    outer = flags & found.tree.outermost(np.where(flags, 0, alone))
    spent = int(found.tree.totals(found.own)[outer].sum())
    samples = int(found.tree.totals(found.samples)[outer].sum())
    return spent, samples, outer


def _out_of_proportion(
    evidence: Evidence, flags: list[bool], threshold: float, title: str, where: str
) -> Iterator[Finding]:
    found = evidence.running
    spent, samples, _ = _under(found, found.functions_where(flags))
    if spent < threshold * found.total or samples < MIN_SAMPLES:
        return
    share = spent / found.total
    yield Finding(
        title,
        f"{percent(share)} of the CPU time {where}",
        share,
        evidence.command("tree", "--merge-lines"),
    )


def _hottest_line(found: Profile, function: int) -> tuple[int, float] | None:
    """The line of a function with the most own time, and its share of the function's."""
    mine = found.function == function
    if not mine.any():
        return None
    by_line = sums(found.line[mine], found.own[mine], 0)
    line = int(np.argmax(by_line))
    return line, int(by_line[line]) / int(by_line.sum())
