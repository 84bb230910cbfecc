"""The lines of one function, against sums done by hand."""

from __future__ import annotations

import pytest

from sonde.errors import UsageError
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.function_lines import FunctionLines, function_lines
from synthetic import APP, MS, Maker


def rows(found: FunctionLines) -> list[tuple[int, int, int]]:
    return [(row.line, row.self_ns // MS, row.total_ns // MS) for row in found.rows]


def made() -> Maker:
    make = Maker()
    make.define("Shop.price", APP, 10)
    make.sample("main:3 > Shop.price:12", 30 * MS)
    make.sample("main:3 > Shop.price:13 > len", 20 * MS)
    make.sample("main:3 > Shop.price:13 > tax:40", 50 * MS)
    make.sample("main:4", 100 * MS)
    return make


def test_self_and_total_time_of_each_line() -> None:
    found = function_lines(made().recording(), "price")
    # A built-in function has no lines: its time is that of the line which called it.
    assert rows(found) == [(12, 30, 30), (13, 20, 70)]
    assert (found.function.name, found.function.line) == ("Shop.price", 10)
    assert (found.self_ns, found.total_ns, found.recorded_ns) == (50 * MS, 100 * MS, 200 * MS)


def test_recursion_counts_once() -> None:
    make = Maker()
    make.sample("walk:2 > walk:2 > walk:5", 10 * MS)
    make.sample("walk:2 > other:7 > walk:2", 10 * MS)
    found = function_lines(make.recording(), "walk")
    assert rows(found) == [(2, 10, 20), (5, 10, 10)]
    assert found.total_ns == 20 * MS


def test_a_part_of_the_recording() -> None:
    make = made()
    make.sample("Shop.price:12", 7 * MS, thread="worker")
    found = function_lines(make.recording(), "Shop.price", Selection(thread="worker"))
    assert rows(found) == [(12, 7, 7)]


def test_names_that_mean_several_or_none() -> None:
    make = made()
    make.define("Cart.price", "/app/cart.py", 5)
    make.sample("Cart.price:6", MS)
    recording = make.recording()
    with pytest.raises(UsageError, match=r"^2 functions are named 'price': Cart.price \(/app/cart"):
        function_lines(recording, "price")
    assert rows(function_lines(recording, "price", file="cart.py")) == [(6, 1, 1)]
    assert rows(function_lines(recording, "price", first_line=5)) == [(6, 1, 1)]
    with pytest.raises(UsageError, match=r"no function 'prise' .*; similar names: Cart.price"):
        function_lines(recording, "prise")
    with pytest.raises(UsageError, match="len has no source lines; ask for the function that call"):
        function_lines(recording, "len")
