"""Collapsed stacks, character by character."""

from __future__ import annotations

from exports.made import everything, exported
from synthetic import Maker


def lines(data: bytes) -> set[str]:
    text = data.decode()
    assert text.endswith("\n") or not text
    return set(text.splitlines())


def test_the_exact_lines() -> None:
    assert lines(exported(everything(), "collapsed")) == {
        "main (/app/app.py:3);Parser.parse (/lib/python3.12/site-packages/parser.py:12);"
        "len (<built-in>:0) 3",
        "main (/app/app.py:3);Parser.parse (/lib/python3.12/site-packages/parser.py:13) 1",
        "fib (/app/app.py:2);fib (/app/app.py:2);fib (/app/app.py:3) 1",
        "[undecodable] (:0) 1",
    }


def test_waiting_when_told() -> None:
    assert lines(exported(everything(), "collapsed", "waiting")) == {
        "main (/app/app.py:4);time.sleep (<built-in>:0) 1",
        "main (/app/app.py:3) 1",
    }


def test_one_thread() -> None:
    assert lines(exported(everything(), "collapsed", thread="worker")) == {
        "fib (/app/app.py:2);fib (/app/app.py:2);fib (/app/app.py:3) 1",
        "[undecodable] (:0) 1",
    }


def test_names_cannot_break_the_format() -> None:
    make = Maker()
    make.define("a;b\nc", "/app;x.py", 1)
    make.sample("a;b\nc:3")
    assert exported(make, "collapsed") == b"a,b c (/app,x.py:3) 1\n"


def test_terminal_escapes_are_spelt_out() -> None:
    make = Maker()
    make.define("red\x1b[31m\x9b2J\x07", "/app/\x1b]0;title\x07.py", 1)
    make.sample("red\x1b[31m\x9b2J\x07:3")
    assert exported(make, "collapsed") == (
        rb"red\x1b[31m\x9b2J\x07 (/app/\x1b]0,title\x07.py:3) 1" + b"\n"
    )


def test_half_characters_do_not_stop_it() -> None:
    make = Maker()
    make.define("f", "/app/\udcff.py", 1)
    make.sample("f:3")
    assert exported(make, "collapsed") == b"f (/app/?.py:3) 1\n"


def test_nothing() -> None:
    assert exported(Maker(), "collapsed") == b""
