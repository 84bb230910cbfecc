"""Sampled allocations of CPython against programs that know what they allocated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launching import Interpreter, Run, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.views.objects.objects import objects
from sonde.views.objects.sampled import CONFIDENCE
from truth.stacks import PROGRAMS

MEGABYTES = "2500"
OVERLAP = 0.95
# Standard deviations by which an estimate may be off: with seven classes on five versions, a normal
# variable leaves them in one run of 3,000.
Z = 4.5
CLASSES = {
    "make_record": "Record",
    "make_entry": "Entry",
    "make_node": "Node",
    "make_bytes": "bytes",
    "make_text": "str",
    "make_set": "set",
    "make_deque": "collections.deque",
}


@pytest.fixture(scope="module")
def allocations(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    path = keep(f"allocations-{python.version}")
    command = [python.path, PROGRAMS / "allocations.py", MEGABYTES]
    return must_run(path, command, "--what", "cpu,objects")


@pytest.mark.versions(*OLDEST_AND_NEWEST, "3.13")
def test_estimates_overlap_with_exact_counts(allocations: Run) -> None:
    made = allocations.told["made"]
    rows = {row.type: row for row in objects(allocations.recording).rows}
    estimated = {maker: rows[CLASSES[maker]].estimated_count for maker in made}
    all_made, all_estimated = sum(made.values()), sum(estimated.values())
    overlap = sum(min(made[m] / all_made, estimated[m] / all_estimated) for m in made)
    assert overlap >= OVERLAP, (made, estimated)


def test_estimates_are_within_their_margin(allocations: Run) -> None:
    rows = {row.type: row for row in objects(allocations.recording).rows}
    for maker, count in allocations.told["made"].items():
        row = rows[CLASSES[maker]]
        margin = row.margin_count / CONFIDENCE * Z
        assert row.estimated_count == pytest.approx(count, abs=margin), maker


def test_types_are_right(allocations: Run) -> None:
    """What a function makes is of its class, or is no object at all."""
    rows = objects(allocations.recording, by="site").rows
    seen = {maker: set[str]() for maker in CLASSES}
    for row in rows:
        if row.site is not None and row.site[0].name in CLASSES:
            seen[row.site[0].name].add(row.type)
    # Of die.randrange: a number, and a method in use.
    helpers = {"native memory (CPython)", "int", "builtin_function_or_method", "method"}
    for maker, types in seen.items():
        assert types - helpers == {CLASSES[maker]}
