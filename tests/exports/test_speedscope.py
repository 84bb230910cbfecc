"""speedscope's JSON, by its own published schema and by its figures."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from exports.made import everything, exported
from exports.readers import package
from synthetic import MS, Maker


def document(make: Maker, **options: Any) -> dict[str, Any]:
    loaded = json.loads(exported(make, "speedscope", **options))
    assert isinstance(loaded, dict)
    return loaded


def stacks(found: dict[str, Any], profile: dict[str, Any]) -> list[tuple[str, int]]:
    frames = found["shared"]["frames"]
    return [
        (" > ".join(frames[i]["name"] for i in stack), weight)
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    ]


@pytest.mark.parametrize("make", [everything(), Maker()], ids=["everything", "nothing"])
@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_it_is_valid_by_the_published_schema(make: Maker, time: str) -> None:
    schema = json.loads(
        (package("speedscope") / "dist/release/file-format-schema.json").read_text()
    )
    jsonschema.validate(document(make, time=time), schema)


def test_a_profile_per_thread_the_busiest_first() -> None:
    found = document(everything())
    assert [(p["name"], p["endValue"]) for p in found["profiles"]] == [
        ("child 1002 (process 200)", 7 * MS),
        ("MainThread 1000 (process 100)", 6 * MS),
        ("worker 1001 (process 100)", 5 * MS),
    ]
    assert {(p["type"], p["unit"], p["startValue"]) for p in found["profiles"]} == {
        ("sampled", "nanoseconds", 0)
    }


def test_stacks_in_order_with_equal_neighbours_joined() -> None:
    found = document(everything())
    # Lines are not told apart, so lines 12 and 13 of Parser.parse are the same frame.
    assert stacks(found, found["profiles"][1]) == [
        ("main > Parser.parse > len", 5 * MS),
        ("main > Parser.parse", 1 * MS),
    ]
    assert stacks(found, found["profiles"][2]) == [
        ("fib > fib > fib", 4 * MS),
        ("[undecodable]", 1 * MS),
    ]


def test_frames_say_where_functions_begin() -> None:
    found = document(everything())
    assert {
        "name": "Parser.parse",
        "file": "/lib/python3.12/site-packages/parser.py",
        "line": 10,
    } in found["shared"]["frames"]
    assert {"name": "len", "file": "<built-in>"} in found["shared"]["frames"]


def test_waiting_when_told() -> None:
    found = document(everything(), time="waiting")
    assert [p["endValue"] for p in found["profiles"]] == [100 * MS, 20 * MS]
    assert stacks(found, found["profiles"][0]) == [("main > time.sleep", 100 * MS)]
