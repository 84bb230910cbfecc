"""The flat view against tables done by hand."""

from __future__ import annotations

from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import Flat, flat
from synthetic import APP, Maker


def rows(result: Flat) -> list[tuple[object, ...]]:
    return [(r.function.name, r.self_ns, r.total_ns, r.samples) for r in result.rows]


def test_by_self_descending() -> None:
    make = Maker()
    make.sample("main:3 > work:12", 10)
    make.sample("main:4 > other:2 > work:13", 20)
    make.sample("main:5", 5)
    assert rows(flat(make.recording())) == [
        ("work", 30, 30, 2),
        ("main", 5, 35, 1),
        ("other", 0, 20, 0),
    ]


def test_recursion_counts_once() -> None:
    make = Maker()
    make.sample("main:1 > fib:2 > fib:3 > fib:2", 10)
    make.sample("main:1 > fib:2", 1)
    assert rows(flat(make.recording())) == [("fib", 11, 11, 2), ("main", 0, 11, 0)]


def test_mutual_recursion_counts_each_once() -> None:
    make = Maker()
    make.sample("even:1 > odd:1 > even:1 > odd:1", 10)
    make.sample("odd:1 > even:1", 3)
    assert rows(flat(make.recording())) == [("odd", 10, 13, 1), ("even", 3, 13, 1)]


def test_json_is_exactly_as_agreed() -> None:
    make = Maker()
    make.sample("main:3 > len", 10)
    assert flat(make.recording()).to_json() == {
        "unit": "ns",
        "total": 10,
        "rows": [
            {
                "name": "len",
                "file": "<built-in>",
                "line": 0,
                "self": 10,
                "total": 10,
                "samples": 1,
            },
            {"name": "main", "file": APP, "line": 1, "self": 0, "total": 10, "samples": 0},
        ],
    }


def test_top_cuts_rows_not_the_total() -> None:
    make = Maker()
    make.sample("a:1", 3)
    make.sample("b:1", 2)
    result = flat(make.recording(), top=1)
    assert rows(result) == [("a", 3, 3, 1)]
    assert result.total_ns == 5


def test_waiting() -> None:
    make = Maker()
    make.sample("a:1", 3)
    make.sample("b:1", 2, state=1)
    assert rows(flat(make.recording(), Selection("waiting"))) == [("b", 2, 2, 1)]
