"""What others took, against programs that know it: competing load, and a quota."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from launching import SONDE, clean_environment, sonde

PROGRAMS = Path(__file__).with_name("programs")
BURN = "import time; end = time.thread_time() + {}\nwhile time.thread_time() < end: sum(range(50))"
# Of a thread's CPU time; Hofer's agent was within 20 %.
CORRECTED_WITHIN = 0.05
# What is neither use nor queue: the start, before the first step, and the last 100 ms' rounding.
LIFE_WITHIN = 0.1


def record(tmp_path: Path, *command: str, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    path = tmp_path / "x.sonde"
    done = subprocess.run(
        [*prefix, *SONDE, "run", "-o", str(path), "--what", "cpu,threads", "--",
         sys.executable, *command],
        capture_output=True, text=True, env=clean_environment(), timeout=120, check=True,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(sonde("report", path, "threads", "--json").stdout)
    answer["path"], answer["out"] = path, done.stdout
    return answer


@contextmanager
def rival(cpu: int) -> Iterator[None]:
    """Somebody else who wants the same processor all the time."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(process.pid, {cpu})
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_a_rival_is_the_queue(tmp_path: Path) -> None:
    """A program that only computes lives from use and queue; its wall time adds up from them."""
    cpu = min(os.sched_getaffinity(0))
    with rival(cpu):
        code = f"import os; os.sched_setaffinity(0, {{{cpu}}})\n" + BURN.format(0.5)
        found = record(tmp_path, "-c", code)
    (row,) = found["rows"]
    assert row["cpu_ns"] == pytest.approx(0.52e9, rel=0.1)
    # Two who want one processor get a half each; more may want it, so at least that.
    assert row["taken_ns"]["queue"] > 0.3e9
    accounted = row["cpu_ns"] + row["run_delay_ns"]
    assert accounted == pytest.approx(row["wall_ns"], rel=LIFE_WITHIN)
    assert row["switches"]["involuntary"] > 10
    assert row["taken_ns"]["quota"] == 0


def test_what_was_taken_is_spread_over_the_calls(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{cpu}}})\nimport time\n"
        + """
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def two(): burn(0.4)
def one(): burn(0.2)
two(); one()
"""
    )
    script = tmp_path / "calls.py"
    script.write_text(code)
    with rival(cpu):
        found = record(tmp_path, str(script))
    taken = json.loads(sonde("report", found["path"], "flat", "--taken", "all", "--json").stdout)
    (row,) = found["rows"]
    assert taken["total"] == sum(row["taken_ns"].values())
    shares = {r["name"]: r["total"] / taken["total"] for r in taken["rows"]}
    # The rival wants the processor all the time, so each call loses in proportion to its length;
    # a slice of the scheduler is some milliseconds of several hundred.
    assert shares["two"] / shares["one"] == pytest.approx(2, rel=0.35)
    assert shares["two"] + shares["one"] > 0.8


def test_patterns_under_load_use_what_they_use(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    with rival(cpu):
        found = record(tmp_path, str(PROGRAMS / "patterns.py"), "0.9")
    truth = json.loads(found["out"])
    rows = {row["name"]: row for row in found["rows"]}
    for name, seconds in truth.items():
        assert rows[name]["corrected_cpu_ns"] == pytest.approx(
            seconds * 1e9, rel=CORRECTED_WITHIN, abs=2e6
        ), name
    idle = [row for row in found["rows"] if row["name"] not in (*truth, "MainThread")]
    assert len(idle) == 10
    assert all(row["cpu_ns"] < 5e6 and row["steal_ns"] < 1e6 for row in idle)


GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group that may use two milliseconds in a hundred; of either version."""
    old = (GROUPS / "cpu").is_dir()
    folder = GROUPS / ("cpu" if old else "") / f"sonde-test-{os.getpid()}"
    try:
        folder.mkdir()
        if old:
            (folder / "cpu.cfs_quota_us").write_text("2000")
        else:
            (folder / "cpu.max").write_text("2000 100000")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    yield folder
    folder.rmdir()


def test_a_quota_is_told_apart_from_the_queue(tmp_path: Path, group: Path) -> None:
    enter = f"open({str(group / 'cgroup.procs')!r}, 'w').write('0')"
    code = f"import os, sys; {enter}; os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    found = record(tmp_path, "-c", code, BURN.format(0.05))
    row = max(found["rows"], key=lambda row: row["cpu_ns"])
    # It used a fiftieth of the time and was kept from the rest.
    assert row["taken_ns"]["quota"] > 0.5 * row["wall_ns"]
    assert row["taken_ns"]["quota"] <= row["run_delay_ns"]
