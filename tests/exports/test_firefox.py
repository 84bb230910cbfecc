"""The Firefox Profiler's format: its tables hang together, and its own reader agrees."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import tempfile
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest

from exports.made import everything, exported
from exports.readers import package
from flows import SHOP, with_flow
from sonde.exports import firefox, firefox_calls, format_named
from sonde.views.selecting.selection import Selection
from synthetic import Maker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def document(make: Maker, **options: Any) -> dict[str, Any]:
    loaded = json.loads(gzip.decompress(exported(make, "firefox", **options)))
    assert isinstance(loaded, dict)
    return loaded


def tables(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, table in found["shared"].items():
        if name != "stringArray":
            yield name, table
    for thread in found["threads"]:
        yield "samples", thread["samples"]
        yield "markers", thread["markers"]


@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_every_column_is_as_long_as_its_table(time: str) -> None:
    for name, table in tables(document(everything(), time=time)):
        for column, values in table.items():
            if isinstance(values, list):
                assert len(values) == table["length"], (name, column)


@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_every_index_points_somewhere(time: str) -> None:
    found = document(everything(), time=time)
    shared = found["shared"]
    strings = len(shared["stringArray"])

    def within(values: list[int | None], length: int) -> bool:
        return all(value is None or 0 <= value < length for value in values)

    assert within(shared["stackTable"]["frame"], shared["frameTable"]["length"])
    for i, parent in enumerate(shared["stackTable"]["prefix"]):
        assert parent is None or 0 <= parent < i
    assert within(shared["frameTable"]["func"], shared["funcTable"]["length"])
    assert within(shared["frameTable"]["category"], len(found["meta"]["categories"]))
    assert within(shared["funcTable"]["name"], strings)
    assert within(shared["funcTable"]["source"], shared["sources"]["length"])
    assert within(shared["sources"]["filename"], strings)
    for thread in found["threads"]:
        assert within(thread["samples"]["stack"], shared["stackTable"]["length"])
        assert within(thread["markers"]["name"], strings)


def stacks(found: dict[str, Any], thread: int) -> list[tuple[str, str, float, float]]:
    """Each sample as chain with lines, category of its end, time and weight."""
    shared = found["shared"]
    stack_table, frames, funcs = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    strings = shared["stringArray"]
    categories = [category["name"] for category in found["meta"]["categories"]]
    samples = found["threads"][thread]["samples"]
    read = []
    for stack, time, weight in zip(
        samples["stack"], samples["time"], samples["weight"], strict=True
    ):
        category = categories[frames["category"][stack_table["frame"][stack]]]
        chain = []
        while stack is not None:
            frame = stack_table["frame"][stack]
            chain.append(f"{strings[funcs['name'][frames['func'][frame]]]}:{frames['line'][frame]}")
            stack = stack_table["prefix"][stack]
        read.append((" > ".join(reversed(chain)), category, time, weight))
    return read


def test_samples_on_the_clock_of_the_recording() -> None:
    found = document(everything(), time="wall")
    # Running samples stand at the moment they were taken, waits at their beginning.
    assert stacks(found, 0) == [
        ("main:3 > Parser.parse:12 > len:None", "Built-in", 2, 2),
        ("main:3 > Parser.parse:12 > len:None", "Built-in", 5, 3),
        ("main:3 > Parser.parse:13", "Library", 6, 1),
        ("main:4 > time.sleep:None", "Waiting", 6, 100),
    ]
    assert stacks(found, 1) == [
        ("fib:2 > fib:2 > fib:3", "Program", 4, 4),
        ("[undecodable]:None", "Other", 5, 1),
    ]
    cpu = found["threads"][0]["samples"]["threadCPUDelta"]
    assert cpu == [2_000_000, 3_000_000, 1_000_000, 0]


def test_long_columns_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = exported(everything(), "firefox", time="wall")
    longest: list[int] = []
    encode = firefox._encode

    def piece(value: Any) -> str:
        if isinstance(value, list):
            longest.append(len(value))
        return encode(value)

    monkeypatch.setattr(firefox, "NUMBERS", 2)
    monkeypatch.setattr(firefox, "_encode", piece)
    assert exported(everything(), "firefox", time="wall") == whole
    assert max(longest) == 2


def test_threads_and_marks() -> None:
    threads = document(everything())["threads"]
    assert [(t["name"], t["pid"], t["tid"]) for t in threads] == [
        ("MainThread", "100", 1000),
        ("worker", "100", 1001),
        ("child", "200", 1002),
    ]
    assert [(t["registerTime"], t["unregisterTime"]) for t in threads] == [
        (0, 900),
        (5, None),
        (0, None),
    ]
    assert [[m["text"] for m in t["markers"]["data"]] for t in threads] == [["warm"], ["busy"], []]
    assert threads[1]["markers"]["startTime"] == [6]


def test_meta() -> None:
    meta = document(everything())["meta"]
    assert meta["preprocessedProfileVersion"] == 60
    assert meta["interval"] == 1
    assert meta["startTime"] == 1_700_000_000_500
    assert meta["product"] == "app.py"
    # The default category is found by its colour.
    assert "grey" in [category["color"] for category in meta["categories"]]
    assert meta["initialSelectedThreads"] == [2]


@pytest.fixture
def ask() -> Iterator[Callable[..., dict[str, Any]]]:
    """Mozilla's own command line on an exported profile; it keeps a server that must be stopped."""
    if shutil.which("node") is None:
        pytest.skip("no node to run the independent reader")
    program = package("@firefox-devtools/profiler-cli") / "dist" / "profiler-cli.js"
    # Its socket lives here, and a socket's path may not be long.
    with tempfile.TemporaryDirectory(prefix="pq") as folder:
        environment = os.environ | {"PROFILER_CLI_SESSION_DIR": folder}

        def run(*words: str) -> str:
            for _ in range(20):
                done = subprocess.run(
                    ["node", str(program), *words, "--session", "test"],
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
                # It gives its server half a second to start, which a busy machine may not.
                if "did not become ready" not in done.stdout + done.stderr:
                    break
                sleep(0.5)
            if "already running" in done.stderr:  # the one that was not ready in time
                return ""
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        def answer(path: Path, *words: str) -> dict[str, Any]:
            run("load", str(path))
            read = json.loads(run(*words, "--json"))
            assert isinstance(read, dict)
            return read

        yield answer
        subprocess.run(
            ["node", str(program), "stop", "test"],
            env=environment,
            capture_output=True,
            timeout=120,
            check=False,
        )


def functions(read: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {f["name"]: (f["selfSamples"], f["totalSamples"]) for f in read["functions"]}


def test_mozillas_reader_sums_up_as_we_do(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json.gz"
    path.write_bytes(exported(everything(), "firefox", "wall"))
    read = ask(path, "thread", "functions", "--thread", "t-0", "--include-idle")
    assert functions(read) == {
        "time.sleep": (100, 100),
        "len": (5, 5),
        "Parser.parse": (1, 6),
        "main": (0, 106),
    }


def test_mozillas_reader_counts_recursion_once(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json.gz"
    path.write_bytes(exported(everything(), "firefox"))
    read = ask(path, "thread", "functions", "--thread", "t-1")
    assert functions(read) == {"fib": (4, 4), "[undecodable]": (1, 1)}


def test_mozillas_reader_sums_up_calls(ask: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "profile.json.gz", io.BytesIO()
    events = [(time * 1_000_000, *rest) for time, *rest in SHOP]
    format_named("firefox").write(with_flow(Maker(), events), Selection(), out)
    path.write_bytes(out.getvalue())
    read = ask(path, "thread", "functions", "--thread", "t-2")
    assert functions(read) == {
        "main": (45, 150), "fib": (50, 50), "gen": (40, 40), "bad": (5, 5), "open": (10, 10),
    }  # fmt: skip


def test_mozillas_reader_sees_the_threads(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json.gz"
    path.write_bytes(exported(everything(), "firefox"))
    read = ask(path, "thread", "list")
    assert {(t["name"], t["pid"], t["tid"], t["markerCount"]) for t in read["threads"]} == {
        ("MainThread", "100", 1000, 1),
        ("worker", "100", 1001, 1),
        ("child", "200", 1002, 0),
    }


def test_nothing() -> None:
    found = document(Maker())
    assert found["threads"] == []
    assert found["shared"]["stackTable"]["length"] == 0


def test_calls_are_samples_of_their_own_tracks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firefox_calls, "AT_ONCE", 3)
    out = io.BytesIO()
    firefox_of = format_named("firefox")
    firefox_of.write(with_flow(Maker(), SHOP), Selection(start_ns=30), out)
    found = json.loads(gzip.decompress(out.getvalue()))
    for name, table in tables(found):
        for column, values in table.items():
            if isinstance(values, list):
                assert len(values) == table["length"], (name, column)
    names = [thread["name"] for thread in found["threads"]]
    assert names == ["MainThread", "worker", "MainThread: calls", "worker: calls"]
    calls = found["threads"][2]["samples"]
    last = calls["stack"].pop()
    assert last is None
    del calls["time"][-1], calls["weight"][-1]
    drawn = [
        (stack.replace(":1", ""), round(time * 1e6), round(weight * 1e6))
        for stack, _, time, weight in stacks(found, 2)
        if weight
    ]
    assert drawn == [
        ("main > fib > fib", 30, 20), ("main > fib", 50, 10), ("main", 60, 10),
        ("main > gen", 70, 10), ("main", 80, 10), ("main > bad", 90, 5), ("main", 95, 5),
        ("main > gen", 100, 30), ("main", 130, 10), ("main > open", 140, 10),
    ]  # fmt: skip
