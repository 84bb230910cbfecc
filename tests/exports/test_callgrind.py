"""Callgrind's format, as a reader of our own and as callgrind_annotate read it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from exports.made import everything, exported
from flows import SHOP, with_flow
from sonde.exports import format_named
from sonde.views.flow.flow import flow
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

Name = tuple[str, str]


class Profile(NamedTuple):
    head: dict[str, str]
    own: Counter[Name]
    calls: Counter[tuple[Name, Name]]
    inclusive: Counter[tuple[Name, Name]]


def read(text: str) -> Profile:
    """What the format's documentation says."""
    found = Profile({}, Counter(), Counter(), Counter())
    names: dict[str, dict[str, str]] = {"file": {}, "function": {}}

    def name(kind: str, value: str) -> str:
        match = re.fullmatch(r"\((\d+)\)(?: (.+))?", value)
        assert match, value
        if match[2]:
            assert match[1] not in names[kind]
            names[kind][match[1]] = match[2]
        return names[kind][match[1]]

    at: Name = ("", "")
    callee: Name = ("", "")
    called = False
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        head = re.fullmatch(r"(\w+): (.*)", line)
        if line.startswith("#") or not line:
            continue
        if head:
            found.head[head[1]] = head[2]
        elif equals and key == "fl":
            at = (name("file", value), at[1])
        elif equals and key == "fn":
            at = (at[0], name("function", value))
        elif equals and key == "cfi":
            callee = (name("file", value), callee[1])
        elif equals and key == "cfn":
            callee = (callee[0], name("function", value))
        elif equals and key == "calls":
            found.calls[at, callee] += int(value.split()[0])
            called = True
        else:
            cost = int(line.split()[1])
            if called:
                found.inclusive[at, callee] += cost
            else:
                found.own[at] += cost
            called = False
    return found


def of_flow(selection: Selection) -> tuple[bytes, Profile]:
    import io

    out = io.BytesIO()
    format_named("callgrind").write(with_flow(Maker(), SHOP, overhead=2), selection, out)
    return out.getvalue(), read(out.getvalue().decode())


APP = "/app/app.py"


def test_a_call_flow_is_exact() -> None:
    _, found = of_flow(Selection(thread="MainThread"))
    # Each function's first line is 1, so the fibs are one function and all other names differ.
    rows = flow(
        with_flow(Maker(), SHOP, overhead=2), Selection(thread="MainThread"), flat=True
    ).rows
    assert found.own == Counter({(APP, row.function.name): row.numbers.base for row in rows})
    assert sum(found.own.values()) == int(found.head["totals"]) == 150
    main, fib = (APP, "main"), (APP, "fib")
    assert found.calls[main, fib] == found.calls[fib, fib] == 1
    assert found.inclusive[main, fib] == 50
    assert found.inclusive[fib, fib] == 30
    assert found.calls[main, (APP, "gen")] == 1
    assert found.inclusive[main, (APP, "gen")] == 40
    assert found.head["events"] == "CPU_ns"


def test_samples_have_no_calls() -> None:
    found = read(exported(everything(), "callgrind").decode())
    main, parse = (APP, "main"), ("/lib/python3.12/site-packages/parser.py", "Parser.parse")
    assert found.own[("<built-in>", "len")] == 12 * MS
    assert found.inclusive[main, parse] == 13 * MS
    assert set(found.calls.values()) == {0}
    # Of the innermost fib; its callers' edge has it once.
    assert found.inclusive[(APP, "fib"), (APP, "fib")] == 4 * MS
    assert sum(found.own.values()) == int(found.head["summary"])
    waiting = read(exported(everything(), "callgrind", "waiting").decode())
    assert waiting.own[("<built-in>", "time.sleep")] == 100 * MS
    assert waiting.head["events"] == "OffCPU_ns"


def test_names_cannot_break_the_format() -> None:
    make = Maker()
    make.define("a\nfn=(1) b", "/app\ncalls=9 9/x.py", 1)
    make.define("(7)", "", 1)
    make.sample("a\nfn=(1) b:3 > (7):4")
    found = read(exported(make, "callgrind").decode())
    assert set(found.calls) == {
        (("/app calls=9 9/x.py", "a fn=(1) b"), ("???", "(7)")),
    }


def test_nothing() -> None:
    assert read(exported(Maker(), "callgrind").decode()).head["totals"] == "0"


@pytest.mark.skipif(shutil.which("callgrind_annotate") is None, reason="no valgrind")
def test_callgrind_annotate_reads_it(tmp_path: Path) -> None:
    data, found = of_flow(Selection())
    path = tmp_path / "shop.callgrind"
    path.write_bytes(data)
    done = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--tree=both", "--threshold=100", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert f"{found.head['totals']} (100.0%)  PROGRAM TOTALS" in done.stdout
    assert re.search(r"\b50 \(\d.*>\s+/app/app.py:fib \(1x\)", done.stdout), done.stdout
