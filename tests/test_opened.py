"""The Python API: what `import sonde` offers a program that reads recordings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde.errors import SondeError, UsageError
from synthetic import MS, Maker


@pytest.fixture
def file(tmp_path: Path) -> Path:
    make = Maker()
    make.sample("main:3 > work:12", 30 * MS)
    make.sample("main:3 > work:13", 10 * MS, thread="worker")
    make.sample("main:4 > time.sleep", 60 * MS, state=1)
    return Path(make.write(str(tmp_path / "app.sonde")))


def test_tables_are_columns(file: Path) -> None:
    tables = sonde.open(file).tables
    assert isinstance(tables.samples.weight, np.ndarray)
    assert tables.samples.weight.sum() == 100 * MS
    assert tables.functions.name == ["main", "work", "time.sleep"]
    assert [p.pid for p in tables.processes] == [100]


def test_views_are_methods(file: Path) -> None:
    recording = sonde.open(str(file))
    assert recording.tree(merge_lines=True).nodes[1].name == "work"
    assert recording.tree(time="wall").total_ns == 100 * MS
    assert recording.flat(top=1).rows[0].self_ns == 40 * MS
    assert recording.flat(thread="worker").total_ns == 10 * MS
    assert recording.lines(start=0.02).rows[0].line == 12
    assert recording.threads().rows[0].name == "MainThread"
    assert recording.summary(process=100).duration_ns == 1_000 * MS
    assert recording.quality().counters["taken"] == 3


def test_views_of_locks_are_methods(tmp_path: Path) -> None:
    make = Maker()
    make.wait("l", "t", "a", 100 * MS, 150 * MS, "get:1 > _thread.lock.acquire")
    recording = sonde.open(make.write(str(tmp_path / "app.sonde")))
    found = recording.locks(by=["owner_thread"], thread="t", start=0.12)
    assert [(row.value, row.wait_ns) for row in found.rows] == [("a", 30 * MS)]
    assert recording.locks().rows[0].value == "lock"
    assert recording.lock_table(top=1).rows[0].lock == "get in app.py:1"
    assert recording.waits(at=0.13).waits[0].owner_thread == "a"


def test_wrong_questions_are_answered(file: Path) -> None:
    recording = sonde.open(file)
    with pytest.raises(UsageError, match="invalid --by 'colour'"):
        recording.locks(by=["colour"])
    with pytest.raises(UsageError, match="no thread 'x'"):
        recording.flat(thread="x")
    with pytest.raises(UsageError, match="the time range is empty"):
        recording.lines(start=2, end=1)


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    make = Maker()
    failed = make.span("GET", 0, 40 * MS, status="500", name="GET /books")
    for _ in range(300):
        make.sample("main:3 > work:12", MS // 10, span=failed)
    inner = make.span("query", 30 * MS, 40 * MS, parent=failed)
    make.sample("main:3 > ask:1", 10 * MS, span=inner)
    fine = make.span("GET", 40 * MS, 50 * MS, status="200")
    make.sample("main:3 > work:12", 10 * MS, span=fine)
    return Path(make.write(str(tmp_path / "requests.sonde")))


def test_spans_are_selected_by_attribute(requests: Path) -> None:
    recording = sonde.open(requests)
    assert recording.tables.spans.name == ["GET /books", "query", "GET"]
    assert recording.tables.spans.attributes == [{"status": "500"}, {}, {"status": "200"}]
    failed = recording.flat(span=sonde.SpanAttribute("status", "500"))
    assert failed.total_ns == 40 * MS
    assert recording.flat(span="GET /books").total_ns == 40 * MS
    found = recording.spans(span=sonde.SpanAttribute("status", "200"))
    assert [row.name for row in found.rows] == ["GET"]
    with pytest.raises(UsageError, match=r"no span with status '404' in .*it has 500, 200"):
        recording.tree(span=sonde.SpanAttribute("status", "404"))
    with pytest.raises(UsageError, match=r"no trace '1' in .*it has none"):
        recording.tree(span=sonde.SpanAttribute("trace_id", "1"))
    summary = recording.summary(span=sonde.SpanAttribute("status", "500"))
    assert any("--attribute status=500" in finding.view for finding in summary.findings)


def test_attributes_are_maps_in_arrow(requests: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    from sonde.exports.parquet import write_folder

    write_folder(sonde.open(requests).tables, tmp_path)
    column = pq.read_table(tmp_path / "spans.parquet")["attributes"].to_pylist()
    assert column == [[("status", "500")], [], [("status", "200")]]


def test_a_missing_file_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(SondeError, match=r"none\.sonde"):
        sonde.open(tmp_path / "none.sonde")


def test_what_there_is_not() -> None:
    with pytest.raises(AttributeError, match="module 'sonde' has no attribute 'nonsense'"):
        _ = sonde.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "first",
    [
        "import sonde",
        "import sonde.record",
        "import sonde.record.session",
        "from sonde import record",
    ],
)
def test_record_is_called_whoever_came_first(first: str) -> None:
    """The package `sonde.record` and the call `sonde.record(...)` share their name."""
    script = (
        f"import sys, types\nsys.path.insert(0, {str(Path(sonde.__file__).parents[1])!r})\n"
        "fake = types.ModuleType('sonde.record.session')\n"
        "fake.Session = lambda *args, **options: (args, options)\n"
        "sys.modules['sonde.record.session'] = fake\n"
        f"{first}\n"
        "import sonde\n"
        "print(sonde.record('out.sonde', rate=5))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "(('out.sonde',), {'rate': 5})\n"
