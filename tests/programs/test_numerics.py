"""pandas, scikit-learn and OpenBLAS with eight threads, with and without sonde."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from attaching import until
from environments import wheels
from launching import Interpreter
from matrix import OWN
from programs.support import (
    APPS,
    MODES,
    WAITS,
    Keep,
    Program,
    alone,
    attached_to,
    check_quality,
    check_same,
    facts,
    seconds_in,
    share_in,
    waited_in,
)
from sonde.recording.reader import read
from sonde.recording.tables import Recording

PYTHONS = OWN

PACKAGES = ("numpy>=2", "pandas>=2.2", "scikit-learn>=1.6")
THREADS = 8
PARTS = ("tables", "matrices")


def command(python: Interpreter, part: str) -> list[str]:
    return [python.path, str(APPS / "numerics.py"), part]


def environment(python: Interpreter) -> dict[str, str]:
    return {
        "PYTHONPATH": wheels("numerics", PACKAGES, python),
        "OPENBLAS_NUM_THREADS": str(THREADS),
    }


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    found = {}
    for part in PARTS:
        program = alone(command(python, part), folder / part, env=environment(python))
        found[part] = facts(program)
        assert (found[part]["code"], found[part]["err"]) == (0, "")
    return found


def check(recording: Recording, part: str) -> None:
    check_quality(recording)
    if part == "tables":
        assert seconds_in(recording, "score") > 0
        assert seconds_in(recording, "prepare") > 0
        # joblib's processes: a tracker of resources and two that work.
        assert len(recording.processes) >= 1 + 2
    else:
        # One thread of eight has Python frames, and numpy's import takes time, too.
        assert share_in(recording, "multiply") > 0.02
        assert len(recording.processes) == 2
        (first,) = (row for row in recording.processes if row.ppid not in pids(recording))
        owners = [recording.processes[index].pid for index in recording.threads.process]
        assert owners.count(first.pid) >= THREADS


def pids(recording: Recording) -> set[int]:
    return {row.pid for row in recording.processes}


@pytest.mark.parametrize(
    ("part", "mode"),
    [("tables", "default"), *(("matrices", mode) for mode in MODES)],
)
def test_numbers_are_the_same(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, part: str, mode: str
) -> None:
    path = keep(f"numerics-{part}-{mode}")
    program = alone(
        command(python, part), tmp_path, env=environment(python), options=MODES[mode], path=path
    )
    check_same(facts(program), plain[part])
    check(program.recording, part)


@pytest.mark.parametrize(("part", "options"), [("tables", WAITS), ("matrices", ())])
def test_numbers_of_a_program_that_is_attached_to(
    python: Interpreter,
    plain: dict[str, Any],
    keep: Keep,
    tmp_path: Path,
    part: str,
    options: tuple[str, ...],
) -> None:
    path = keep(f"numerics-{part}-attached")
    with Program(
        [*command(python, part), "waits"],
        tmp_path,
        env=environment(python),
        stdin=subprocess.PIPE,
    ) as program:
        until(lambda: program.out, "its first line", program.process)
        with attached_to(path, "--tree", str(program.process.pid), *options):
            program.close_stdin()
            program.wait()
    found = facts(program)
    check_same(found, {**plain[part], "out": "begins\n" + plain[part]["out"]})
    recording = read(path)
    check(recording, part)
    if "cpu,waits,locks" in options:
        assert waited_in(recording, "models") > 0
