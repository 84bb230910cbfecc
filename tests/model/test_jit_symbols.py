"""Names of code that comes, goes and moves."""

from __future__ import annotations

from sonde.model.jit_symbols import JitSymbols


def test_an_address_is_named_by_what_lay_there_then() -> None:
    symbols = JitSymbols()
    symbols.add(0x1000, 0x100, "first", 10)
    symbols.add(0x1080, 0x20, "second", 20)
    assert symbols.find(0x1090, 15) == "first"
    assert symbols.find(0x1090, 25) == "second"
    assert symbols.find(0x1010, 25) == "first"


def test_what_came_before_the_first_look_is_the_first() -> None:
    symbols = JitSymbols()
    symbols.add(0x1000, 0x10, "late", 100)
    assert symbols.find(0x1008, 5) == "late"


def test_nothing_lies_beside_it() -> None:
    symbols = JitSymbols()
    symbols.add(0x1FF0, 0x20, "across", 0)
    assert symbols.find(0x1FEF, 1) is None
    assert symbols.find(0x2000, 1) == "across"
    assert symbols.find(0x2010, 1) is None


def test_code_that_moves_keeps_its_name() -> None:
    symbols = JitSymbols()
    symbols.add(0x1000, 0x40, "moves", 10, index=7)
    symbols.move(7, 0x9000, 30)
    symbols.add(0x1000, 0x40, "other", 40, index=8)
    assert symbols.find(0x9010, 35) == "moves"
    assert symbols.find(0x1010, 35) == "moves"
    assert symbols.find(0x1010, 45) == "other"
    symbols.move(99, 0x5000, 50)  # of one that nobody told of
    assert symbols.find(0x5000, 60) is None
