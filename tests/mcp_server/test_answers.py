"""Answers keep their bound, and say what they leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sonde.mcp_server.answers import MAX_CHARACTERS, MAX_TEXT, Table, answer


def rows(count: int, text: str = "") -> list[dict[str, Any]]:
    return [{"row": i, "text": text} for i in range(count)]


def test_a_small_answer_is_whole() -> None:
    table = Table({"unit": "ns"}, "rows", rows(3), "thread")
    assert json.loads(answer(table, limit=20)) == {"unit": "ns", "rows": rows(3)}


def test_pages_add_up_to_everything() -> None:
    table = Table({}, "rows", rows(45), "thread")
    seen, offset = [], 0
    while True:
        told = json.loads(answer(table, limit=20, offset=offset))
        seen += told["rows"]
        if "ask" not in told.get("left_out", {}):
            break
        assert told["left_out"]["rows"] == 45 - len(seen)
        offset = int(told["left_out"]["ask"].split("offset=")[1].split(",")[0])
    assert seen == rows(45)
    assert told["left_out"] == {"before": 40}


@pytest.mark.parametrize("text", ["x", "x" * 250, "ü" * 4000, '"' * 5000])
def test_no_answer_is_longer_than_its_bound(text: str) -> None:
    table = Table({"facts": [text] * 50}, "rows", rows(1000, text), "thread")
    written = answer(table, limit=1000)
    assert len(written) <= MAX_CHARACTERS
    told = json.loads(written)
    assert told["rows"]
    assert all(len(row["text"]) <= MAX_TEXT for row in told["rows"])
    assert told["left_out"]["rows"] == 1000 - len(told["rows"])
    assert f"offset={len(told['rows'])}" in told["left_out"]["ask"]


def test_rows_within_rows_give_way_first() -> None:
    def nested(depth: int) -> dict[str, Any]:
        below = [nested(depth - 1) for _ in range(12)] if depth else []
        return {"key": "k" * 60, "children": below}

    table = Table({}, "rows", [nested(3) for _ in range(6)], "thread or by")
    written = answer(table, limit=20)
    told = json.loads(written)
    assert len(written) <= MAX_CHARACTERS
    assert len(told["rows"]) >= 5
    assert told["left_out"]["inside"]["children"] > 0
    assert told["left_out"]["ask_inside"] == "narrow it with thread or by"
