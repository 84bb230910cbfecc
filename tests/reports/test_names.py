"""Names and places that fit."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from sonde.reports.layout.names import clipped, labelled, place, printable, shortened


def test_shortened_in_the_middle() -> None:
    assert shortened("short", 5) == "short"
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("abcdefghij", 6) == "abc…ij"
    assert shortened("abcdefghij", 1) == "…"
    assert shortened("abcdefghij", 0) == ""


def test_clipped_at_the_end() -> None:
    assert clipped("return x", 8) == "return x"
    assert clipped("return x + y", 8) == "return…"
    assert clipped("return x", 0) == ""


@pytest.mark.parametrize("width", range(1, 12))
def test_wide_characters_take_two_columns(width: int) -> None:
    assert cell_len(shortened("漢字漢字漢字", width)) <= width


@pytest.mark.parametrize(
    ("file", "line", "width", "told"),
    [
        ("/home/me/app/src/app.py", 3, 40, "src/app.py:3"),
        ("/opt/lib/python3.12/site-packages/django/db/models.py", 9, 40, "django/db/models.py:9"),
        ("/usr/lib/python3.12/json/decoder.py", 355, 40, "json/decoder.py:355"),
        ("/home/me/app/.venv/lib/python3.12/site-packages/x.py", 1, 40, "x.py:1"),
        ("/somewhere/very/deep/in/the/tree/file.py", 12, 21, "…/the/tree/file.py:12"),
        ("/somewhere/very/deep/in/the/tree/file.py", 12, 17, "…/tree/file.py:12"),
        ("/opt/site-packages/some/package/__init__.py", 8, 24, "…/package/__init__.py:8"),
        ("/opt/site-packages/some/package/__init__.py", 8, 21, "…/pa…ge/__init__.py:8"),
        ("/opt/site-packages/package/__init__.py", 8, 18, "…/__init__.py:8"),
        ("<built-in>", 0, 40, "<built-in>"),
        ("<frozen importlib._bootstrap>", 7, 40, "<frozen importlib._bootstrap>:7"),
        ("", 0, 40, ""),
    ],
)
def test_place(file: str, line: int, width: int, told: str) -> None:
    assert place(file, line, width, base="/home/me/app") == told


def test_place_keeps_the_end_of_a_path() -> None:
    assert place("/somewhere/deep/in/the/tree/file.py", 12, 18, base="/") == "…/tree/file.py:12"
    assert place("/x/a_name_that_is_long_by_itself.py", 12, 16, base="/") == "a_name_t…f.py:12"


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb\\nc\\u202e"
    assert printable("\udcff") == "\\udcff"
    assert printable("naïve 漢") == "naïve 漢"


def test_a_label_fits_whatever_is_in_it() -> None:
    for width in range(12, 60):
        for name in ("f", "a.long.qualified.name.of.some_method", "漢字" * 20):
            found = labelled(name, "/a/rather/long/path/to/a/module.py", 1234, width)
            assert cell_len(found) <= width
            assert "1234" in found or width < 24
