"""Answers of bounded size, which say what they leave out and how to ask for it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

MAX_CHARACTERS = 16_000
"""Of an answer: a few thousand words of a language model's."""
MAX_TEXT = 300
"""Of a name or sentence in an answer."""
INNER_ROWS = (10, 5, 2, 1)
"""Rows that a row itself may contain; the first number with which a few rows fit is taken."""
WANTED = 5
"""Rows that are worth having fewer inside."""


@dataclass(frozen=True)
class Table:
    """Facts, and rows of which an answer holds as many as it can."""

    facts: dict[str, Any]
    key: str
    rows: list[dict[str, Any]]
    narrow: str
    """Arguments that give a smaller answer."""
    pages: bool = True
    """Whether rows stand for themselves, so that the next ones can be asked for."""


def answer(table: Table, *, limit: int, offset: int = 0) -> str:
    """As JSON, never longer than MAX_CHARACTERS."""
    wanted = table.rows[offset : offset + limit]
    written = ""
    for inner in INNER_ROWS:
        count, written = _fitting(table, wanted, offset, inner)
        if count >= min(len(wanted), WANTED):
            break
    return written


def _fitting(
    table: Table, wanted: list[dict[str, Any]], offset: int, inner: int
) -> tuple[int, str]:
    """As many rows as fit, by halving the number and then adding one at a time."""
    low, high = 0, len(wanted)
    found = _written(table, wanted[:high], offset, inner)
    if len(found) <= MAX_CHARACTERS:
        return high, found
    while low < high:
        middle = (low + high + 1) // 2
        if len(_written(table, wanted[:middle], offset, inner)) <= MAX_CHARACTERS:
            low = middle
        else:
            high = middle - 1
    return low, _written(table, wanted[:low], offset, inner)


def _written(table: Table, rows: list[dict[str, Any]], offset: int, inner: int) -> str:
    cut: Counter[str] = Counter()
    facts = {name: _cut(value, name, inner, cut) for name, value in table.facts.items()}
    shown = [_cut(row, table.key, inner, cut) for row in rows]
    left_out: dict[str, Any] = {}
    end = offset + len(rows)
    if offset:
        left_out["before"] = min(offset, len(table.rows))
    if end < len(table.rows):
        left_out[table.key] = len(table.rows) - end
        more = f"offset={end}" if table.pages else "a greater limit"
        left_out["ask"] = f"call again with {more}, or narrow it with {table.narrow}"
    if cut:
        left_out["inside"] = dict(cut)
        left_out["ask_inside"] = f"narrow it with {table.narrow}"
    answer = {**facts, table.key: shown}
    if left_out:
        answer["left_out"] = left_out
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)


def _cut(value: Any, name: str, inner: int, cut: Counter[str]) -> Any:
    """The value with long lists and texts cut; what is cut is counted by where it stands."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
    if isinstance(value, dict):
        kept = list(value.items())[: 10 * inner]
        if len(kept) < len(value):
            cut[name] += len(value) - len(kept)
        return {
            key if len(key) <= MAX_TEXT else f"{key[: MAX_TEXT - 1]}…": _cut(one, key, inner, cut)
            for key, one in kept
        }
    if isinstance(value, list | tuple):
        if len(value) > inner:
            cut[name] += len(value) - inner
        return [_cut(one, name, inner, cut) for one in value[:inner]]
    return value
