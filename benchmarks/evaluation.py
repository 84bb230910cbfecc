"""Puts measured tables into docs/evaluation.md, between the marks that name their part."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "docs" / "evaluation.md"


def put(part: str, tables: str, about: str) -> None:
    """Replaces what stands between the marks of `part`; each part says when it was measured."""
    text = PATH.read_text()
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{PATH.name} has no place for the tables of {part}")
    PATH.write_text(f"{before}{begin}\n\n{about}\n\n{tables}\n{end}{after}")
