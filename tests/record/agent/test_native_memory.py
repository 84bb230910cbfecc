"""Memory that extension modules and libraries allocate themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from launching import TARGETS, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.row_values import NATIVE_MEMORY
from sonde.views.objects.objects import ObjectsRow, objects
from sonde.views.objects.sampled import CONFIDENCE

Z = 5

ARRAYS = """
import json
import numpy
made = 0
for _ in range(4):
    kept = [numpy.ones(1000 + i % 1000) for i in range(20_000)]
    made += sum(array.nbytes for array in kept)
large = [numpy.zeros((1000, 1000)) for _ in range(20)]
made += sum(array.nbytes for array in large)
del large, kept[::2]
print(json.dumps({"made": made, "alive": sum(array.nbytes for array in kept)}))
"""

DATABASE = """
import sqlite3
base = sqlite3.connect(":memory:")
base.execute("create table rows (number integer, text text)")
base.executemany("insert into rows values (?, ?)", ((i, "x" * 200) for i in range(100_000)))
print(base.execute("select count(*) from rows").fetchone()[0])
"""


def _rows(run_path: Path, command: list[str]) -> tuple[dict[str, ObjectsRow], dict[str, int]]:
    run = must_run(run_path, command, "--what", "cpu,objects")
    rows = [row for row in objects(run.recording).rows if row.kind == "native"]
    assert NATIVE_MEMORY in run.recording.objects.kind
    return {row.type: row for row in rows}, run.told if run.out.startswith("{") else {}


def test_buffers_of_arrays(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    rows, told = _rows(tmp_path / "a.sonde", [sys.executable, "-c", ARRAYS])
    row = rows["native memory (_multiarray_umath)"]
    assert row.survival is not None
    margin = Z * row.margin_bytes / CONFIDENCE
    assert row.margin_bytes < 0.05 * told["made"]
    assert row.estimated_bytes == pytest.approx(told["made"], abs=margin)
    margin = Z * row.survival.live_margin_bytes / CONFIDENCE
    assert row.survival.live_bytes == pytest.approx(told["alive"], abs=margin)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_memory_of_a_library(python: Interpreter, tmp_path: Path) -> None:
    asked = subprocess.run([python.path, "-c", "import sqlite3"], capture_output=True, check=False)
    if asked.returncode:
        pytest.skip("this interpreter was built without sqlite3")
    rows, _ = _rows(tmp_path / "a.sonde", [python.path, "-c", DATABASE])
    # 100,000 rows of 200 bytes, in pages of a database that grows.
    assert sum(row.estimated_bytes for name, row in rows.items() if "sqlite3" in name) > 15e6


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_memory_of_a_library_that_ctypes_loads(python: Interpreter, tmp_path: Path) -> None:
    asked = subprocess.run([python.path, "-c", "import ctypes"], capture_output=True, check=False)
    if asked.returncode:
        pytest.skip("this interpreter was built without ctypes")
    library = tmp_path / "libbuffers.so"
    source = TARGETS / "buffers.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    command = [python.path, str(TARGETS / "loads_library.py"), str(library)]
    run = must_run(tmp_path / "a.sonde", command, "--what", "cpu,objects")
    row = next(r for r in objects(run.recording).rows if r.type == "native memory (libbuffers)")
    assert row.survival is not None
    margin = Z * row.margin_bytes / CONFIDENCE
    assert row.margin_bytes < 0.5 * run.told["made"]
    assert row.estimated_bytes == pytest.approx(run.told["made"], abs=margin)
    margin = Z * row.survival.live_margin_bytes / CONFIDENCE
    assert row.survival.live_bytes == pytest.approx(run.told["alive"], abs=margin)
