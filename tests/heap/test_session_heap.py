"""Programs that take snapshots of themselves: where NumPy is installed, beside sonde."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launching import TESTS, TIMEOUT_S, clean_environment
from sonde.heap import snapshot_file

PROGRAM = """
import os, sys
import sonde
class Thing: pass
things = [Thing() for _ in range(100)]
with sonde.record("own.sonde") as session:
    assert session.heap("heap.sonde") == os.path.abspath("heap.sonde")
    first, second = session.heap(), session.heap()
    assert first != second
    try:
        session.heap("/proc/none/heap.sonde")
    except sonde.errors.SondeError as error:
        print(error)
try:
    session.heap("late.sonde")
except sonde.errors.SondeError as error:
    print(error)
assert "numpy" not in sys.modules
"""


def test_a_session_takes_its_heap(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(TESTS.parent / "src")),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "cannot write into /proc/none",
        "this session is not running",
    ]
    heap = snapshot_file.read(str(tmp_path / "heap.sonde"))
    names = [type_.name for type_ in heap.types]
    assert (heap.type == names.index("__main__.Thing")).sum() == 100
    assert heap.origin.pid is not None
    assert len(list(tmp_path.glob("sonde-*-heap*.sonde"))) == 2
    assert not (tmp_path / "late.sonde").exists()
