"""Sampled acquisitions of locks: programs that must not notice, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from attaching import Target, attached, has_agent
from launching import TARGETS, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST, OWN, soak
from sonde.views.locks.lock_activity import lock_activity

OPTIONS = ("--what", "cpu,lock-activity", "--lock-activity-every", "50")


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("times", [3, soak(200)])
def test_a_busy_program_is_attached_to_again_and_again(
    python: Interpreter, tmp_path: Path, times: int
) -> None:
    options = ("-W", "ignore")
    with Target(python, TARGETS / "acquires.py", "16", options=options) as target:
        sampled = 0
        for _ in range(times):
            run = attached(target.pid, tmp_path / "a.sonde", "--force", "--for", "0.3", *OPTIONS)
            sampled += len(run.recording.lock_samples)
        assert sampled
        assert not has_agent(target.pid)
        code, out, err = target.end("\n")
    assert (code, out.strip()) == (0, "right"), err


@pytest.mark.versions(*OWN)
def test_children_are_recorded(python: Interpreter, tmp_path: Path) -> None:
    code = (
        "import os, threading\n"
        "lock = threading.Lock()\n"
        "for number in range(3):\n"
        "    child = os.fork()\n"
        "    for _ in range(1000 * (not child)): lock.acquire(); lock.release()\n"
        "    if not child: os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    run = must_run(tmp_path / "a.sonde", [python.path, "-c", code], *OPTIONS)
    found = lock_activity(run.recording)
    assert found is not None
    children = [row for row in found.threads if row.process != run.recording.processes[0].pid]
    # Each counts its own from its beginning on, whatever its parent had counted.
    assert len(children) == 3
    assert all(1000 <= row.acquisitions < 1050 for row in children)
