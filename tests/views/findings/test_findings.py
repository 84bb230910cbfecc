"""Each rule speaks above its threshold and is silent below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sonde.views.findings.findings import findings
from sonde.views.selecting.selection import Selection
from synthetic import APP, Maker
from views.test_quality import GOOD

if TYPE_CHECKING:
    from sonde.views.findings.findings import Finding


def made(*chains: tuple[str, int], state: int = 0) -> Maker:
    make = Maker()
    make.quality = dict(GOOD)
    for chain, count in chains:
        for _ in range(count):
            make.sample(chain, state=state)
    return make


def found(make: Maker, selection: Selection | None = None) -> list[Finding]:
    return findings(make.recording(), selection)


SPREAD = [(f"f{i}:1", 20) for i in range(10)]
"""Two hundred samples over ten functions: nothing stands out."""


def test_silence_when_nothing_stands_out() -> None:
    assert found(made(*SPREAD)) == []


def test_silence_when_there_is_nothing() -> None:
    make = Maker()
    make.quality = dict(GOOD)
    assert found(make) == []


def test_a_hot_function() -> None:
    (finding,) = found(made(*SPREAD, ("main:3 > work:12", 150), ("main:3 > work:13", 50)))
    assert finding.title == "work is hot"
    assert finding.share == 0.5
    assert finding.detail == (
        "work (app.py:1) has a self time of 50 % ± 5 % of the CPU time, 75 % of that in line 12"
    )
    assert finding.view == "sonde report app.sonde flat --top 10"


def test_a_hot_function_by_few_samples_is_none() -> None:
    make = made(("work:12", 20), ("other:1", 9))
    assert found(make) == []


def test_the_command_names_the_same_part_of_the_recording() -> None:
    make = made(("work:12", 40), *SPREAD[:3])
    (finding,) = found(make, Selection(thread="MainThread", start_ns=0, end_ns=2_500_000_000))
    assert finding.view == (
        "sonde report app.sonde flat --top 10 --thread MainThread --from 0 --to 2.5"
    )


def importing(count: int) -> Maker:
    make = made(*SPREAD)
    make.define("_find_and_load", "<frozen importlib._bootstrap>", 1)
    make.define("<module>", "/lib/heavy.py", 1)
    for i in range(count):
        make.sample(f"main:1 > _find_and_load:5 > <module>:{i} > _find_and_load:5 > part{i}:7")
    return make


def test_imports() -> None:
    (finding,) = found(importing(100))
    assert finding.title == "imports take much CPU time"
    assert finding.share == pytest.approx(1 / 3)
    assert "the most expensive is /lib/heavy.py with 33 %" in finding.detail


def test_a_compiler_that_calls_importlib_does_not_import() -> None:
    make = made(*SPREAD)
    make.define("source_to_code", "<frozen importlib._bootstrap_external>", 1)
    for i in range(100):
        make.sample(f"main:1 > source_to_code:5 > part{i}:7")
    assert found(make) == []


def test_imports_in_proportion() -> None:
    assert found(importing(40)) == []


def logging(count: int) -> Maker:
    make = made(*SPREAD)
    make.define("Logger.info", "/lib/python3.12/logging/__init__.py", 1)
    for i in range(count):
        make.sample(f"main:1 > Logger.info:{i} > format{i}:2")
    return make


def test_logging() -> None:
    (finding,) = found(logging(50))
    assert finding.title == "logging takes much CPU time"
    assert finding.share == pytest.approx(0.2)
    assert finding.view == "sonde report app.sonde tree --merge-lines"
    assert found(logging(20)) == []


def test_a_file_that_only_sounds_like_logging() -> None:
    make = made(*SPREAD)
    make.define("log", "/app/mylogging/__init__.py", 1)
    for i in range(50):
        make.sample(f"main:1 > log:{i} > format{i}:2")
    assert found(make) == []


def test_garbage_collection() -> None:
    (finding,) = found(made(*SPREAD, ("main:1 > gc.collect", 40)))
    assert finding.title == "garbage collection takes much CPU time"
    assert found(made(*SPREAD, ("main:1 > gc.collect", 15))) == []


def test_waiting_in_one_chain() -> None:
    make = made(*SPREAD)
    make.sample("main:1 > Pool.map:2 > Event.wait:3 > lock.acquire", 10**9, state=1)
    make.sample("main:1 > Pool.map:2 > Event.wait:3 > lock.acquire", 10**9, state=1)
    make.sample("main:9 > time.sleep", 10**9, state=1)
    (finding,) = found(make)
    assert finding.title == "most off-CPU time is in lock.acquire"
    assert finding.share == pytest.approx(2 / 3)
    assert finding.detail == (
        "67 % of the off-CPU time is in the call stack main > Pool.map > Event.wait > lock.acquire"
    )
    assert finding.view == "sonde report app.sonde tree --waiting --merge-lines"


def test_waiting_that_hardly_matters() -> None:
    make = made(*SPREAD)
    make.sample("main:1 > time.sleep", 1_000_000, state=1)
    assert found(make) == []


def test_poor_quality_is_a_finding_and_worst_comes_first() -> None:
    make = made(*SPREAD, ("main:3 > work:12", 200))
    make.quality |= {"lost": 90_000}
    first, second = found(make)
    assert first.title == "90.0 % of the samples were lost"
    assert first.view == "sonde report app.sonde quality"
    assert second.title == "work is hot"


def test_a_path_with_blanks_is_quoted() -> None:
    make = made(("work:12", 40))
    (finding,) = findings(make.recording("my app.sonde"))
    assert finding.view == "sonde report 'my app.sonde' flat --top 10"


def test_json() -> None:
    (finding,) = found(made(("work:12", 40)))
    assert set(finding.to_json()) == {"title", "detail", "share", "view"}
    assert APP not in finding.detail


def test_who_calls_a_hot_library_function() -> None:
    make = Maker()
    make.define("sub", "/usr/lib/python3.12/re/__init__.py", 170)
    for _ in range(40):
        make.sample("main:1 > slug:7 > sub:180")
    for i in range(60):
        make.sample("main:1 > sub:180" if i < 10 else "main:2")
    found = {finding.title: finding for finding in findings(make.recording())}
    hot = found["sub is hot"]
    assert hot.detail.endswith("80 % of that in calls by slug (app.py:1)")
    assert "flat --mine" in hot.view


def test_a_function_that_has_libraries_do_its_work() -> None:
    make = Maker()
    make.define("count", "/venv/lib/python3.12/site-packages/orm/query.py", 20)
    for _ in range(40):
        make.sample("main:1 > books:7 > count:21")
    for _ in range(60):
        make.sample("main:2")
    found = {finding.title: finding for finding in findings(make.recording())}
    assert "main is hot" in found
    spends = found["books spends its time in libraries"]
    assert spends.share == 0.4
    assert "100 % of that in count (query.py:20)" in spends.detail
    assert "main spends its time in libraries" not in found
