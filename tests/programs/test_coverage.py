"""coverage measures a program while sonde records it: the same lines, arcs and reports."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from environments import wheels
from launching import TIMEOUT_S, Interpreter, clean_environment
from matrix import NEWEST, OLDEST_AND_NEWEST
from programs.support import APPS, MODES, TRIED_MODES, Keep, alone, check_quality, share_in

pytestmark = pytest.mark.versions(NEWEST)

PYTHONS = OLDEST_AND_NEWEST

PACKAGES = ("coverage>=7.6",)
CORES = {"ctrace": 40_000, "pytrace": 4_000, "sysmon": 40_000}
"""A trace function in C, one in Python, and sys.monitoring, which 3.11 does not have; how much the
program computes with each."""


def command(python: Interpreter, core: str) -> list[str]:
    # sys.monitoring measures branches from 3.14 on.
    branch = [] if core == "sysmon" and python.minor < 14 else ["--branch"]
    return [
        *(python.path, "-W", "ignore::DeprecationWarning", "-m", "coverage", "run", *branch),
        *("--data-file", "data", str(APPS / "covered.py"), str(CORES[core])),
    ]


def environment(python: Interpreter, core: str) -> dict[str, str]:
    return {"PYTHONPATH": wheels("coverage", PACKAGES, python), "COVERAGE_CORE": core}


def seen(python: Interpreter, folder: Path) -> dict[str, Any]:
    """The data file, line for line, and the report made of it."""
    with sqlite3.connect(folder / "data") as data:
        tables = {
            name: sorted(data.execute(f"select * from {name}").fetchall())
            for name in ("file", "context", "line_bits", "arc", "tracer")
        }
    report = subprocess.run(
        [python.path, "-m", "coverage", "json", "--data-file", "data", "-q", "-o", "-"],
        cwd=folder,
        env=clean_environment(PYTHONPATH=wheels("coverage", PACKAGES, python)),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return {"tables": tables, "files": json.loads(report.stdout)["files"]}


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    found = {}
    for core in CORES:
        if core == "sysmon" and python.minor < 12:
            continue
        program = alone(command(python, core), folder / core, env=environment(python, core))
        assert program.process.returncode == 0, program.err
        found[core] = (program.out, program.err, seen(python, folder / core))
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
@pytest.mark.parametrize("core", CORES)
def test_the_data_file_is_the_same(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, core: str, mode: str
) -> None:
    if core not in plain:
        pytest.skip(f"CPython {python.version} has no sys.monitoring")
    path = keep(f"coverage-{core}-{mode}")
    program = alone(
        command(python, core),
        tmp_path,
        env=environment(python, core),
        options=MODES[mode],
        path=path,
    )
    assert program.process.returncode == 0, program.err
    assert (program.out, program.err, seen(python, tmp_path)) == plain[core]
    recording = program.recording
    check_quality(recording)
    assert share_in(recording, "compute") > 0.02
    assert len(recording.processes) == 3
