"""Pools of processes: workers that come, go and die, with and without sonde."""

from __future__ import annotations

from pathlib import Path

import pytest

from launching import Interpreter
from matrix import NEWEST, OLDEST_AND_NEWEST
from programs.support import (
    APPS,
    CALLS,
    WAITS,
    Keep,
    alone,
    check_quality,
    check_same,
    contended,
    facts,
    seconds_in,
)
from sonde.row_values import SHARED

pytestmark = pytest.mark.versions(NEWEST)

PYTHONS = OLDEST_AND_NEWEST

KINDS = {"default": ((), "fork"), "waits": (WAITS, "forkserver"), "calls": (CALLS, "spawn")}
"""Options, and how each starts its processes: all three in all modes would take long."""


def command(python: Interpreter, method: str) -> list[str]:
    return [python.path, "-W", "ignore::DeprecationWarning", str(APPS / "pools.py"), method]


@pytest.mark.parametrize("mode", KINDS)
def test_pools(python: Interpreter, keep: Keep, tmp_path: Path, mode: str) -> None:
    options, method = KINDS[mode]
    plain = alone(command(python, method), tmp_path / "plain")
    assert plain.process.returncode == 0, plain.err
    path = keep(f"pools-{method}")
    program = alone(command(python, method), tmp_path / "under", options=options, path=path)
    check_same(facts(program), facts(plain))
    recording = program.recording
    check_quality(recording)
    # It, 3 that count, one that squares and one that manages; pools of 2, with restarts, 2 and 1.
    # The one that is terminated at once may be over before it is recorded.
    assert len(recording.processes) >= 1 + 3 + 2 + 2 + 2 + 1
    # Of all time it is little: processes use most of theirs to start.
    computed = sum(map(float, (program.folder / "chunks").read_text().split()))
    assert 0.5 < seconds_in(recording, "chunk") / computed < 1.5
    ends = [process.exit for process in recording.processes]
    assert ends.count("killed by SIGKILL") >= 1
    if mode != "calls":
        assert contended(recording, SHARED)
