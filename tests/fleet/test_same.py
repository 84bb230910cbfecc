"""A store that holds one recording answers as `sonde report` does of it: the same JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleet.recorded import VIEWS, added, answered, asked, shop, without_chains
from launching import Interpreter
from matrix import OLDEST_AND_NEWEST
from sonde.fleet.queries.engines import engine
from sonde.fleet.queries.query import Question
from sonde.fleet.queries.views import answer
from sonde.fleet.store.location import located
from sonde.recording.reader import read
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.stacks.tree import tree
from views.locks.test_locks import products

# What Python recorded is the same file format whichever version it was.
pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)


@pytest.fixture(scope="module")
def alone(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("alone")
    file = shop(folder / "shop.sonde", python.path)
    added(folder / "store", [file])
    return file, folder / "store"


def test_every_view(alone: tuple[Path, Path]) -> None:
    file, store = alone
    for view in VIEWS:
        code, reported, err = asked("report", file, *view, "--json")
        assert code == 0, err
        _, stored, _ = asked("fleet", "report", store, *view, "--json")
        if "--thread" in view and view[0] == "locks":
            assert json.loads(stored) == without_chains(view, json.loads(reported)), view
        else:
            assert stored == reported, view


def test_a_recording_against_itself(alone: tuple[Path, Path]) -> None:
    file, store = alone
    both = ("--base", "service=shop", "--new", "service=shop")
    assert answered("fleet", "report", store, "diff", *both) == answered("diff", file, file)


def test_a_range_of_time(alone: tuple[Path, Path]) -> None:
    """Waits are cut at its edges as they are in a recording."""
    file, store = alone
    recording = read(file)
    base = round(recording.target["started"] * 1e9)
    # The middle: starting takes its time on a busy machine.
    duration = recording.target["duration_ns"] // 1000
    begin, end = duration * 400, duration * 900
    with engine("duckdb") as duckdb:
        for time in ("running", "waiting", "wall"):
            selection = Selection(time, start_ns=begin, end_ns=end)
            question = Question(start_ns=base + begin, end_ns=base + end, time=time)
            found, _ = answer(located(str(store)), duckdb, "flat", question)
            assert found.to_json() == flat(recording, selection).to_json()
            found, _ = answer(located(str(store)), duckdb, "tree", question)
            assert found.to_json() == tree(recording, selection).to_json()
        found, _ = answer(located(str(store)), duckdb, "locks", question)
        expected = locks(recording, selection).to_json() | {"chains": []}
        assert found.to_json() == expected
        assert 0 < expected["total_ns"] < locks(recording).total_ns


def test_equal_figures_come_in_the_same_order(tmp_path: Path) -> None:
    """Made by hand: everything weighs the same, there are unknown owners, no stacks, no names."""
    make = products()
    for chain in ("b:1 > a:2", "a:1 > b:2", "c:3", "a:9 > c:3", None):
        make.sample(chain, 10)
        make.sample(chain, 10, state=1)
    file = make.write(str(tmp_path / "made.sonde"))
    added(tmp_path / "store", [Path(file)])
    for view in VIEWS:
        if "--thread" not in view:
            assert answered("fleet", "report", tmp_path / "store", *view) == answered(
                "report", file, *view
            ), view


def test_calls(alone: tuple[Path, Path]) -> None:
    """Sums of fractions depend on their order: all is the same but their last digits.

    An error is the root of such a difference where a share is 1, so it may be 1e-8 instead of 0.
    """
    file, store = alone
    for by in ("edge", "context"):
        reported = answered("report", file, "calls", "--by", by)
        stored = answered("fleet", "report", store, "calls", "--by", by)
        for name in ("by", "windows", "windows_cut", "count"):
            assert stored[name] == reported[name]
        assert reported["count"] > 20
        expected, found = by_edge(reported), by_edge(stored)
        assert expected.keys() == found.keys()
        for edge, figures in expected.items():
            assert found[edge] == pytest.approx(figures, rel=1e-6, abs=1e-7)
        assert sum(weight for weight, *_ in found.values()) == pytest.approx(1)
        assert stored["advice"].keys() == reported["advice"].keys()


def by_edge(found: Any) -> dict[str, list[float]]:
    edges = {}
    for edge in found["edges"]:
        figures = [edge.pop(name) for name in ("weight", "error", "count")]
        figures += edge.pop("interval")
        edges[json.dumps(edge)] = figures
    return edges
