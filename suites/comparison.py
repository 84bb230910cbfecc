"""Compares the cases of two runs, and runs again those that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from suites.outcomes import PROCESS, Outcome

ABSENT = Outcome("absent")
# Runs one or several cases anew: (mode, cases) -> outcomes. No case: the whole module.
Again = Callable[[str, list[str]], Mapping[str, Outcome]]


@dataclass
class Difference:
    suite: str
    version: str
    mode: str
    module: str
    case: str
    plain: list[str] = field(default_factory=list)
    """What the case came to without sonde, in each run."""
    recorded: list[str] = field(default_factory=list)
    why: str = ""
    """What the case said when it came to something else."""
    verdict: str = ""
    """difference: with sonde twice or more what it never is without. once: seen a single time.
    flaky: without sonde too. equal: always the same."""
    known: str = ""
    """The reason, if it is a known difference."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def comparable(plain: Mapping[str, Outcome], recorded: Mapping[str, Outcome]) -> list[str]:
    """The cases of both runs; those that a run which was cut off did not reach are left out."""
    whole = PROCESS in plain and PROCESS in recorded
    cases = [*plain, *(case for case in recorded if case not in plain)]
    return [case for case in cases if whole or (case in plain and case in recorded)]


def differing(plain: Mapping[str, Outcome], recorded: Mapping[str, Outcome]) -> list[str]:
    """The cases whose outcomes are not the same."""
    return [
        case
        for case in comparable(plain, recorded)
        if plain.get(case, ABSENT).kind != recorded.get(case, ABSENT).kind
    ]


def confirm(difference: Difference, mode: str, plain_mode: str, again: Again, times: int) -> None:
    """Runs a case alone a few times each way; if it then agrees, the module once more each way."""
    case = difference.case
    alone = [] if case == PROCESS else [case]

    def add(results: list[str], run: str, cases: list[str]) -> None:
        outcome = again(run, cases).get(case, ABSENT)
        results.append(outcome.kind)
        if results is difference.recorded and not is_expected(outcome.kind, difference.plain):
            difference.why = outcome.why or difference.why

    for _ in range(times if alone else 1):
        add(difference.plain, plain_mode, alone)
        add(difference.recorded, mode, alone)
    difference.verdict = verdict(difference)
    if difference.verdict == "once" and alone:
        add(difference.recorded, mode, [])
        if verdict(difference) == "difference":
            add(difference.plain, plain_mode, [])
        difference.verdict = verdict(difference)


def is_expected(kind: str, plain: list[str]) -> bool:
    return kind in plain


def verdict(difference: Difference) -> str:
    other = [kind for kind in difference.recorded if not is_expected(kind, difference.plain)]
    if not other:
        return "flaky" if len({*difference.plain, *difference.recorded}) > 1 else "equal"
    return "difference" if len(other) > 1 else "once"
