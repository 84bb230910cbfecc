"""Two recordings compared, against figures done by hand."""

from __future__ import annotations

import pytest

from sonde.model.trees.overlap import Likeness
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.diff import Diff, diff
from synthetic import APP, Maker


def rows(result: Diff) -> list[tuple[str, int, int, int]]:
    return [(r.function.name, r.base_ns, r.new_ns, r.delta_ns) for r in result.rows]


def made(*samples: tuple[str | None, int], **places: tuple[str, int]) -> Maker:
    make = Maker()
    for name, place in places.items():
        make.define(name, *place)
    for chain, ns in samples:
        make.sample(chain, ns)
    return make


def compared(base: Maker, new: Maker, selection: Selection | None = None) -> Diff:
    return diff(base.recording(), new.recording(), selection)


def test_own_times_the_greatest_change_first() -> None:
    base = made(("main:3 > work:12", 60), ("main:3 > old:2", 30), ("main:4", 10))
    new = made(("main:3 > fresh:1", 50), ("main:3 > work:12", 20), ("main:4", 30))
    found = compared(base, new)
    assert rows(found) == [
        ("fresh", 0, 50, 50),
        ("work", 60, 20, -40),
        ("old", 30, 0, -30),
        ("main", 10, 30, 20),
    ]
    assert (found.base_ns, found.new_ns) == (100, 100)
    assert found.alike.overlap == pytest.approx(0.1 + 0.2)
    # Hot before: work, old and main; hot now: fresh, work and main.
    assert found.alike.base_by_new == pytest.approx(2 / 3)
    assert found.alike.new_by_base == pytest.approx(2 / 3)
    # work, old, main, fresh: 60 30 10 0 and 20 0 30 50, both 25 in the mean. The products of what
    # they differ from it add up to -175 - 125 - 75 - 625, the squares to 2100 and 1300.
    assert found.alike.correlation == pytest.approx(-1000 / (2100 * 1300) ** 0.5)


def test_json_is_exactly_as_agreed() -> None:
    found = compared(made(("main:3 > len", 10)), made(("main:3 > len", 5), ("main:3", 5)))
    assert found.to_json() == {
        "overlap": 0.5,
        "hot_edge_coverage": {"threshold": 0.1, "base_by_new": 1.0, "new_by_base": 0.5},
        "correlation": None,
        "rows": [
            {"name": "len", "file": "<built-in>", "line": 0, "base": 10, "new": 5, "delta": -5},
            {"name": "main", "file": APP, "line": 1, "base": 0, "new": 5, "delta": 5},
        ],
    }


def test_the_way_to_a_function_counts_for_the_overlap_not_for_the_rows() -> None:
    found = compared(made(("one:1 > work:2", 10)), made(("two:1 > work:2", 10)))
    assert found.alike.overlap == 0
    assert (found.alike.base_by_new, found.alike.new_by_base) == (0, 0)
    assert rows(found) == [("work", 10, 10, 0)]


def test_lines_do_not_count() -> None:
    found = compared(made(("main:3 > work:2", 10)), made(("main:4 > work:7", 10)))
    assert found.alike.overlap == 1
    assert rows(found) == [("work", 10, 10, 0)]


def test_a_function_that_moved_within_its_file_is_the_same() -> None:
    base = made(("work:12", 10), work=(APP, 10))
    new = made(("work:52", 30), work=(APP, 50))
    found = compared(base, new)
    assert rows(found) == [("work", 10, 30, 20)]
    assert found.rows[0].function.line == 50
    assert found.alike.overlap == 1


def test_functions_of_one_name_are_told_apart_by_their_lines() -> None:
    def both(first: int, second: int) -> Maker:
        make = made(("<lambda>:5", first), **{"<lambda>": (APP, 5)})
        make.define("<lambda>", APP, 9)
        make.sample("<lambda>:9", second)
        return make

    assert rows(compared(both(10, 20), both(15, 50))) == [
        ("<lambda>", 20, 50, 30),
        ("<lambda>", 10, 15, 5),
    ]
    # One more of the name, and lines that moved: which is which cannot be told.
    one = made(("<lambda>:3", 10), **{"<lambda>": (APP, 3)})
    assert rows(compared(one, both(15, 50))) == [
        ("<lambda>", 0, 50, 50),
        ("<lambda>", 0, 15, 15),
        ("<lambda>", 10, 0, -10),
    ]


def test_another_file_is_another_function() -> None:
    base = made(("work:2", 10), work=("/app/a.py", 1))
    new = made(("work:2", 10), work=("/app/b.py", 1))
    found = compared(base, new)
    assert [(r.function.file, r.delta_ns) for r in found.rows] == [
        ("/app/b.py", 10),
        ("/app/a.py", -10),
    ]
    assert found.alike.overlap == 0


def test_recursion_and_samples_without_a_stack() -> None:
    base = made(("fib:2 > fib:2 > fib:3", 10), (None, 5))
    new = made(("fib:2 > fib:3", 10), (None, 5))
    found = compared(base, new)
    assert rows(found) == [("fib", 10, 10, 0), ("[undecodable]", 5, 5, 0)]
    assert found.alike.overlap == pytest.approx(1 / 3)


def test_the_selection_is_of_both() -> None:
    base, new = made(("main:3", 10)), made(("main:3", 10))
    new.sample("main:4 > time.sleep", 70, state=1)
    assert rows(compared(base, new)) == [("main", 10, 10, 0)]
    waiting = compared(base, new, Selection("waiting"))
    assert rows(waiting) == [("time.sleep", 0, 70, 70)]
    assert waiting.to_json()["overlap"] is None
    assert waiting.to_json()["hot_edge_coverage"] == {
        "threshold": 0.1,
        "base_by_new": None,
        "new_by_base": 0.0,
    }


def test_nothing_in_either() -> None:
    found = compared(made(), made())
    assert found.alike == Likeness(None, None, None, None)
    assert not found.rows


def test_exchanged_it_is_the_same_the_other_way_round() -> None:
    base = made(("main:3 > work:12", 60), ("main:3 > old:2", 31), ("main:4", 10))
    new = made(("main:3 > fresh:1", 50), ("main:3 > work:12", 21), ("main:4", 30))
    there, back = compared(base, new), compared(new, base)
    assert there.alike.overlap == back.alike.overlap
    assert there.alike.correlation == pytest.approx(back.alike.correlation)
    assert there.alike.base_by_new == back.alike.new_by_base
    assert there.alike.new_by_base == back.alike.base_by_new
    assert {r[0]: r[3] for r in rows(there)} == {r[0]: -r[3] for r in rows(back)}
