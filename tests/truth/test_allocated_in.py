"""What a heap snapshot shows is alive, and where a recording of the same process allocated it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import SONDE, TIMEOUT_S, Interpreter, clean_environment, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.errors import UsageError
from sonde.heap import snapshot_file
from sonde.heap.graph import HeapGraph
from sonde.recording.reader import read
from sonde.views.heap.paths import heap_paths
from truth.stacks import PROGRAMS

MARGINS = 2.8


@pytest.fixture(scope="module")
def files(python: Interpreter, keep: Callable[[str], Path]) -> tuple[Path, Path]:
    """A recording of a program, and a snapshot that was taken meanwhile."""
    recorded, taken = keep(f"holds-{python.version}"), keep(f"held-{python.version}")
    command = [python.path, PROGRAMS / "holds.py"]
    with subprocess.Popen(
        [*SONDE, "run", "-o", recorded, "--what", "objects", "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as program:
        assert program.stdout is not None
        pid = program.stdout.readline().strip()
        time.sleep(0.3)  # of what came or went just then it is not known whether it was there
        done = sonde("heap", pid, "-o", taken)
        assert done.returncode == 0, done.stderr
        time.sleep(0.3)
        program.communicate(input="", timeout=TIMEOUT_S)
    return recorded, taken


def test_what_is_held_is_found_where_it_was_allocated(files: tuple[Path, Path]) -> None:
    recorded, taken = files
    graph = HeapGraph(snapshot_file.read(str(taken)))
    found = heap_paths(graph, "Session", recording=read(recorded))
    assert found.allocations is not None
    carts = [row for row in found.allocations.rows if row.type == "bytes"]
    (row,) = carts
    assert row.chain is not None
    names = [frame["name"] for frame in row.chain if frame["file"].endswith("holds.py")]
    assert names == ["<module>", "log_in", "Session.__init__"]
    held = 10_000 * found.objects
    assert abs(row.estimated_bytes - held) <= MARGINS * row.margin_bytes
    # Nothing of what was dropped is taken for what is alive, although it had the same addresses.
    for other in found.allocations.rows:
        assert other.chain is None or other.chain[-1]["name"] != "drop"


def test_another_process_is_refused(files: tuple[Path, Path], keep: Callable[[str], Path]) -> None:
    path = keep("other")
    done = sonde("run", "-o", path, "--what", "objects", "-c", "list(range(100000))")
    assert done.returncode == 0, done.stderr
    graph = HeapGraph(snapshot_file.read(str(files[1])))
    with pytest.raises(UsageError, match="has no process"):
        heap_paths(graph, "Session", recording=read(path))


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_the_page(files: tuple[Path, Path], tmp_path: Path) -> None:
    """What the file that works offline has of a type's paths is what the report has."""
    recorded, taken = files
    out = tmp_path / "heap.html"
    done = sonde("view", taken, "--allocated-in", recorded, "--html", out)
    assert done.returncode == 0, done.stderr
    packed = re.search(r'id="heap-paths">([^<]*)<', out.read_text())
    assert packed is not None
    paths = json.loads(zlib.decompress(base64.b64decode(packed[1]), wbits=-zlib.MAX_WBITS))
    told = sonde(
        "report", taken, "heap", "--path", "__main__.Session", "--allocated-in", recorded, "--json"
    )
    assert paths["__main__.Session"]["allocations"] == json.loads(told.stdout)["allocations"]
    refused = sonde("view", recorded, "--allocated-in", recorded, "--html", out)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--allocated-in applies to heap snapshots only" in refused.stderr


def test_the_report(files: tuple[Path, Path]) -> None:
    recorded, taken = files
    done = sonde("report", taken, "heap", "--path", "Session", "--allocated-in", recorded)
    assert done.returncode == 0, done.stderr
    assert "what they keep alive was allocated in (" in done.stdout
    assert "Session.__init__ (holds.py:15) < log_in" in done.stdout
    refused = sonde("report", taken, "heap", "--allocated-in", recorded)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("sonde: --allocated-in shows where objects were allocated")
