"""The views of the program's own code against tables done by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from sonde.recording.tables import Recording
from sonde.views.selecting import own_code
from sonde.views.stacks.flat import flat
from sonde.views.stacks.lines import lines
from sonde.views.stacks.own_flat import OwnRow, own_flat
from sonde.views.stacks.tree import tree
from synthetic import APP, Maker

QUERY = "/venv/lib/python3.12/site-packages/django/db/models/query.py"
THREADING = "/usr/lib/python3.12/threading.py"


def maker() -> Maker:
    make = Maker()
    for name in ("count", "filter", "clone"):
        make.define(name, QUERY, 100)
    make.define("bootstrap", THREADING, 1000)
    return make


def rows(recording: Recording, **options: Any) -> list[tuple[Any, ...]]:
    found = own_flat(recording, **options)
    return [
        (
            row.function.name,
            row.self_ns,
            row.total_ns,
            row.samples,
            [(call.function.name, call.self_ns) for call in row.calls],
        )
        for row in found.rows
        if isinstance(row, OwnRow)
    ]


def test_time_of_libraries_is_their_callers() -> None:
    make = maker()
    make.sample("main:1 > books:5 > count:110 > clone:120 > execute", 30)
    make.sample("main:1 > books:5 > count:111", 2)
    make.sample("main:1 > books:5 > filter:130", 4)
    make.sample("main:1 > books:6", 3)
    make.sample("main:2 > slug:9 > sub", 10)
    recording = make.recording()
    assert rows(recording) == [
        ("books", 39, 39, 4, [("count", 32), ("filter", 4)]),
        ("slug", 10, 10, 1, [("sub", 10)]),
        ("main", 0, 49, 0, []),
    ]
    assert own_flat(recording).rows[0].to_json() == {
        "name": "books",
        "file": APP,
        "line": 1,
        "self": 39,
        "total": 39,
        "samples": 4,
        "calls": [
            {"name": "count", "file": QUERY, "line": 100, "self": 32},
            {"name": "filter", "file": QUERY, "line": 100, "self": 4},
        ],
    }


def test_a_library_that_calls_back_has_only_its_own_part() -> None:
    make = maker()
    make.sample("main:1 > count:110 > key:7", 5)
    make.sample("main:1 > count:110", 2)
    make.sample("main:1 > count:110 > key:7 > len", 1)
    assert rows(make.recording()) == [
        ("key", 6, 6, 2, [("len", 1)]),
        ("main", 2, 8, 1, [("count", 2)]),
    ]


def test_recursion_through_a_library_counts_once() -> None:
    make = maker()
    make.sample("walk:1 > filter:130 > walk:2 > filter:130 > walk:2", 8)
    make.sample("walk:1 > filter:130 > walk:2 > filter:131", 1)
    assert rows(make.recording()) == [("walk", 9, 9, 2, [("filter", 1)])]


def test_what_no_own_function_called_is_a_row() -> None:
    make = maker()
    make.sample("bootstrap:1001 > count:110", 6)
    make.sample("bootstrap:1001 > work:4", 3)
    make.sample(None, 1)
    assert rows(make.recording()) == [
        ("[no code of yours]", 7, 7, 2, [("bootstrap", 6), ("[undecodable]", 1)]),
        ("work", 3, 3, 1, []),
    ]


def test_top_cuts_rows_not_the_total() -> None:
    make = maker()
    make.sample("a:1 > count:110", 3)
    make.sample("b:1", 2)
    assert rows(make.recording(), top=1) == [("a", 3, 3, 1, [("count", 3)])]
    assert own_flat(make.recording(), top=1).total_ns == 5


def test_the_tree_has_a_library_function_as_one_node() -> None:
    make = maker()
    make.sample("bootstrap:1001 > main:1 > count:110 > clone:120", 5)
    make.sample("bootstrap:1001 > main:1 > count:112", 1)
    make.sample("bootstrap:1001 > main:1 > count:112 > key:7", 2)
    make.sample("bootstrap:1002", 1)
    found = tree(make.recording(), mine=True)
    assert [(n.parent, n.name, n.line, n.self_ns, n.total_ns, n.library) for n in found.nodes] == [
        (None, "main", 1, 0, 8, False),
        (0, "count", 100, 6, 8, True),
        (1, "key", 7, 2, 2, False),
        (None, "[no code of yours]", 0, 0, 1, False),
        (3, "bootstrap", 1000, 1, 1, True),
    ]
    assert found.nodes[1].to_json()["library"] is True
    assert "library" not in tree(make.recording()).nodes[0].to_json()


def test_lines_are_those_that_called() -> None:
    make = maker()
    make.sample("main:1 > count:110 > clone:120", 5)
    make.sample("main:1", 1)
    make.sample("main:1 > count:110 > key:7", 2)
    make.sample("bootstrap:1002", 4)
    found = lines(make.recording(), mine=True)
    assert [(r.file, r.line, r.self_ns, r.total_ns) for r in found.rows] == [
        (APP, 1, 6, 8),
        ("[no code of yours]", 0, 4, 4),
        (APP, 7, 2, 2),
    ]
    assert [r.line for r in lines(make.recording(), mine=True, top=1).rows] == [1]


def test_source_of_the_settings_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    make = maker()
    make.sample("main:1 > count:110 > clone:120", 5)
    recording = make.recording()
    monkeypatch.setattr(own_code, "configured_source", lambda: ("django",))
    assert rows(recording) == [("clone", 5, 5, 1, []), ("count", 0, 5, 0, [])]
    own_code.require_own(recording)
    monkeypatch.setattr(own_code, "configured_source", lambda: ("shop",))
    with pytest.raises(own_code.UsageError, match=r"no function in app\.sonde is of shop"):
        own_code.require_own(recording)


@pytest.mark.parametrize("seed", range(20))
def test_every_view_adds_up_to_the_same_total(seed: int) -> None:
    die = random.Random(seed)
    make = maker()
    names = ["a:1", "a:2", "b:3", "count:110", "count:111", "clone:120", "bootstrap:1001", "len"]
    for _ in range(40):
        chain = " > ".join(die.choice(names) for _ in range(die.randrange(1, 9)))
        make.sample(chain, die.randrange(1, 50))
    make.sample(None, 3)
    recording = make.recording()
    total = flat(recording).total_ns
    own = own_flat(recording)
    shown = tree(recording, mine=True)
    assert own.total_ns == shown.total_ns == total
    assert sum(row.self_ns for row in own.rows) == total
    assert sum(node.self_ns for node in shown.nodes) == total
    assert sum(row.self_ns for row in lines(recording, mine=True).rows) == total
    # The total of an own function does not depend on who its callees belong to.
    before = {row.function: row.total_ns for row in flat(recording).rows}
    for row in own.rows:
        assert row.function not in before or row.total_ns == before[row.function]


def java(make: Maker) -> Recording:
    recording = make.recording()
    table = recording.functions
    return replace(recording, functions=replace(table, runtime=["hotspot"] * len(table)))


def test_what_a_jvm_does_beside_the_program_is_one_row_each() -> None:
    make = Maker()
    make.define("Till.main", "Till.java", 1)
    make.sample("Till.main:2", 10)
    make.sample("[C2 compiler] > PhaseLive.add (libjvm.so)", 6)
    make.sample("[C1 compiler] > LinearScan.walk (libjvm.so)", 3)
    make.sample("[GC thread]", 2)
    make.sample("[GC thread, concurrent] > mark (libjvm.so)", 2)
    make.sample("[VM thread]", 1)
    recording = java(make)
    assert [(r.function.name, r.self_ns, r.samples) for r in flat(recording).rows] == [
        ("Till.main", 10, 1),
        ("[JIT compiler]", 9, 2),
        ("[garbage collection]", 4, 2),
        ("[VM thread]", 1, 1),
    ]
    assert [(n.name, n.parent, n.self_ns) for n in tree(recording).nodes] == [
        ("Till.main", None, 10),
        ("[JIT compiler]", None, 9),
        ("[garbage collection]", None, 4),
        ("[VM thread]", None, 1),
    ]
    assert {r.function.name for r in flat(recording, vm_frames=True).rows} >= {
        "[C2 compiler]",
        "PhaseLive.add (libjvm.so)",
    }
    assert len(tree(recording, vm_frames=True).nodes) == 9
    assert rows(recording) == [
        (
            "[no code of yours]",
            14,
            14,
            5,
            [("[JIT compiler]", 9), ("[garbage collection]", 4), ("[VM thread]", 1)],
        ),
        ("Till.main", 10, 10, 1, []),
    ]
