"""What holders did while others waited, beside what they measured themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from java import Jdk, compiled
from launching import Interpreter, Run, must_run
from shared import run_folder
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import tree
from truth.stacks import PROGRAMS

JAVA_PROGRAMS = Path(__file__).resolve().parent / "hotspot"
HOLDS = "60"
HOLDING = ("settle", "lookup", "fetch")
POINTS = 0.08
"""A share may be off by this much."""


@pytest.fixture(scope="session")
def held(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    options = ("--what", "cpu,waits,locks")
    return must_run(
        keep(f"held-{python.version}"), [python.path, PROGRAMS / "held.py", HOLDS], *options
    )


@pytest.fixture(scope="session")
def held_java(
    jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    classes = compiled(JAVA_PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    command = [jdk.java, "-Xmx256m", "-cp", classes, "Held", HOLDS]
    return must_run(keep(f"held-{jdk}"), command, "--what", "cpu,waits,locks")


def shares(run: Run, kind: str, waiter: str) -> dict[str, float]:
    selection = Selection(thread=waiter)
    found = locks(run.recording, selection, by=("kind", "held_in_function"), chains=False)
    (row,) = (row for row in found.rows if row.value == kind)
    assert found.held_samples
    times = {child.value["name"] if child.value else "": child.wait_ns for child in row.children}
    # How long a waiter takes to wake up is the machine's affair.
    times.pop("[released]", None)
    return {name: ns / sum(times.values()) for name, ns in times.items()}


def check(found: Mapping[str, float], spent: Mapping[str, int]) -> None:
    total = sum(spent.values())
    wrong = {
        name: (ns / total, found.get(name, 0.0))
        for name, ns in spent.items()
        if abs(found.get(name, 0.0) - ns / total) > POINTS
    }
    assert not wrong, f"(true, estimated) of {wrong}; all: {found}"


def of(run: Run, *names: str) -> dict[str, int]:
    return {name: run.told["spent"][name] for name in names}


def test_a_lock_held_over_two_functions(held: Run) -> None:
    check(shares(held, "lock", "waiter"), of(held, *HOLDING))


def test_what_ran_while_others_waited_for_the_gil(held: Run) -> None:
    found = shares(held, "gil", "victim")
    # On a busy machine the holder may lose its CPU in `pause` while it releases the GIL: the
    # interpreter wakes a waiter before it unlocks the mutex that a waiter needs.
    computed = {name: found[name] for name in ("compute", "check")}
    total = sum(computed.values())
    assert total + found.get("pause", 0.0) > 0.9
    check({name: share / total for name, share in computed.items()}, of(held, *computed))


def test_the_tree_of_holders(held: Run) -> None:
    found = tree(held.recording, Selection("wall"), while_held="lock", merge_lines=True)
    totals: Counter[str] = Counter()
    for node in found.nodes:
        totals[node.name] += node.total_ns / found.total_ns
    check(totals, of(held, *HOLDING))


@pytest.mark.parametrize("kind", ["monitor", "rlock"])
def test_a_java_lock_held_over_two_methods(held_java: Run, kind: str) -> None:
    found = locks(held_java.recording, by=("kind", "held_in_chain"), chains=False)
    (row,) = (row for row in found.rows if row.value == kind)
    inside: dict[str, float] = {}
    for child in row.children:
        names = {frame["name"] for frame in child.value or ()}
        for name in HOLDING:
            if f"Held.{name}" in names:
                inside[name] = inside.get(name, 0.0) + child.wait_ns / row.wait_ns
    spent = held_java.told["spent"]
    check(inside, {name: spent[f"{kind} {name}"] for name in HOLDING})
