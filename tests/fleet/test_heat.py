"""The map of a store's time: its cells are what the views say of the same range and label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fleet.conftest import Fleet
from fleet.recorded import added
from sonde.fleet.queries.engines import Engine, engine
from sonde.fleet.queries.heat import COLUMNS, MS, STEPS_MS, Heat, heat, step_for
from sonde.fleet.queries.query import Question, StoreQuery
from sonde.fleet.queries.views import answer
from sonde.fleet.store.labels import Exactly
from sonde.fleet.store.location import located
from sonde.fleet.store.parts import open_store
from sonde.model.choice import Time
from synthetic import Maker

START = 1_790_000_000.0
BASE = int(START) * 1_000_000_000


def asked(store: Path, question: Question, by: str) -> Heat:
    with engine("duckdb") as duckdb:
        return heat(StoreQuery(open_store(located(str(store))), duckdb, question), by)


def spent(store: Path, duckdb: Engine, question: Question) -> int:
    return int(answer(located(str(store)), duckdb, "flat", question)[0].total_ns)


@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_a_cell_is_what_the_views_say(fleet: Fleet, time: Time) -> None:
    with engine("duckdb") as duckdb:
        store = open_store(located(str(fleet.store)))
        found = heat(StoreQuery(store, duckdb, Question(time=time)), "host")
        assert [row.value for row in found.rows] == sorted(
            (row.value for row in found.rows),
            key=lambda value: -sum(next(r.cells for r in found.rows if r.value == value)),
        )
        checked = 0
        for row in found.rows:
            full = [i for i, ns in enumerate(row.cells) if ns]
            for column in (full[0], full[len(full) // 2], full[-1]):
                begin = found.begin_ns + column * found.step_ns
                question = Question(
                    (Exactly("host", (row.value,)),), begin, begin + found.step_ns, time=time
                )
                assert spent(fleet.store, duckdb, question) == row.cells[column]
                checked += 1
        assert checked == 9
        whole = Question(
            start_ns=found.begin_ns,
            end_ns=found.begin_ns + found.columns * found.step_ns,
            time=time,
        )
        assert sum(row.total for row in found.rows) == spent(fleet.store, duckdb, whole)


def test_waits_across_columns_by_hand(tmp_path: Path) -> None:
    make = Maker(started=START, duration_ns=100 * MS)
    # One that begins before the recording, one inside a column, one over several, one to an edge.
    make.sample("main:1", 7 * MS, state=1, time=4 * MS)
    make.sample("main:1", 1 * MS, state=1, time=6 * MS)
    make.sample("main:1", 32 * MS, state=1, time=43 * MS)
    make.sample("main:1", 7 * MS, state=1, time=50 * MS)
    make.sample("main:1", 2 * MS, state=0, time=60 * MS)
    file = Path(make.write(str(tmp_path / "made.sonde")))
    added(tmp_path / "store", [file], service="s")
    ten = Question(start_ns=BASE, end_ns=BASE + 100 * MS, time="waiting")
    found = asked(tmp_path / "store", ten, "service")
    # A hundred milliseconds in as many columns.
    assert (found.begin_ns, found.step_ns, found.columns) == (BASE, MS, 100)
    (row,) = found.rows
    expected = [0] * 100
    for begin, end in ((0, 4), (5, 6), (11, 43), (43, 50)):
        for column in range(begin, end):
            expected[column] += MS
    assert row.cells == expected
    running = asked(tmp_path / "store", replace(ten, time="running"), "service").rows[0]
    # A running sample belongs to the moment it was taken at.
    assert [(i, ns) for i, ns in enumerate(running.cells) if ns] == [(60, 2 * MS)]
    cut = asked(
        tmp_path / "store",
        Question(start_ns=BASE + 12 * MS, end_ns=BASE + 45 * MS, time="wall"),
        "service",
    )
    assert cut.rows[0].total == 33 * MS


def test_rows_are_values_of_any_label(fleet: Fleet, tmp_path: Path) -> None:
    for by, expected in (
        ("version", {"1", "2"}), ("region", {"eu", "us"}), ("team", {"green"}), ("rack", {None}),
    ):  # fmt: skip
        assert {row.value for row in asked(fleet.store, Question(), by).rows} == expected
    some = Question((Exactly("version", ("2",)), Exactly("host", ("a", "c"))))
    assert {row.value for row in asked(fleet.store, some, "host").rows} == {"a", "c"}
    nobody = asked(fleet.store, Question((Exactly("version", ("9",)),)), "host")
    assert (nobody.rows, nobody.columns) == ([], 0)
    # Values that mean something in a condition are taken as they are; so is having none.
    for i, labels in enumerate(({"rack": "a,b*"}, {"rack": "a"}, {})):
        make = Maker(started=START + i)
        make.sample("main:1", (i + 1) * MS)
        file = Path(make.write(str(tmp_path / f"{i}.sonde")))
        added(tmp_path / "store", [file], service="s", **labels)
    totals = {row.value: row.total for row in asked(tmp_path / "store", Question(), "rack").rows}
    assert totals == {"a,b*": MS, "a": 2 * MS, None: 3 * MS}
    odd = Question((Exactly("rack", ("a,b*", None)),))
    found = {row.value: row.total for row in asked(tmp_path / "store", odd, "rack").rows}
    assert found == {"a,b*": MS, None: 3 * MS}


def test_steps_people_know() -> None:
    for length in (1, MS, 90 * MS, 3_000 * MS, 3_600_000 * MS, 30 * 86_400_000 * MS, 10**19):
        step = step_for(length)
        assert step % MS == 0
        assert -(-length // step) < COLUMNS
        if step // MS in STEPS_MS[1:]:
            smaller = STEPS_MS[STEPS_MS.index(step // MS) - 1] * MS
            assert length > (COLUMNS - 1) * smaller
