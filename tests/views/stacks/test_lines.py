"""The lines view against tables done by hand."""

from __future__ import annotations

from sonde.views.stacks.lines import Lines, lines
from synthetic import APP, Maker


def rows(result: Lines) -> list[tuple[object, ...]]:
    return [(r.file, r.line, r.self_ns, r.total_ns) for r in result.rows]


def test_own_and_total_of_each_line() -> None:
    make = Maker()
    make.define("work", "/app/work.py", 10)
    make.sample("main:3 > work:12", 10)
    make.sample("main:3 > work:13", 20)
    make.sample("main:3", 5)
    assert rows(lines(make.recording())) == [
        ("/app/work.py", 13, 20, 20),
        ("/app/work.py", 12, 10, 10),
        (APP, 3, 5, 35),
    ]


def test_time_in_a_built_in_belongs_to_the_calling_line() -> None:
    make = Maker()
    make.sample("main:3 > sorted", 10)
    make.sample("main:3 > sorted > key:8", 4)
    make.sample("main:3 > sorted > key:8 > len", 2)
    assert rows(lines(make.recording())) == [(APP, 3, 10, 16), (APP, 8, 6, 6)]


def test_a_line_twice_on_a_stack_counts_once() -> None:
    make = Maker()
    make.sample("fib:2 > fib:2 > fib:3", 10)
    make.sample("fib:2 > fib:2", 1)
    assert rows(lines(make.recording())) == [(APP, 3, 10, 10), (APP, 2, 1, 11)]


def test_two_functions_may_share_a_line() -> None:
    make = Maker()
    make.sample("<lambda>:5", 1)
    make.sample("main:5 > <lambda>:5", 2)
    assert rows(lines(make.recording())) == [(APP, 5, 3, 3)]


def test_what_has_no_line_is_in_no_row() -> None:
    make = Maker()
    make.sample(None, 10)
    make.sample("len", 3)
    make.sample("main:1", 1)
    result = lines(make.recording())
    assert rows(result) == [(APP, 1, 1, 1)]
    assert result.total_ns == 14


def test_json_is_exactly_as_agreed() -> None:
    make = Maker()
    make.sample("main:1", 1)
    assert lines(make.recording()).to_json() == {
        "unit": "ns",
        "rows": [{"file": APP, "line": 1, "self": 1, "total": 1}],
    }


def test_nothing_recorded() -> None:
    assert lines(Maker().recording()).rows == []
