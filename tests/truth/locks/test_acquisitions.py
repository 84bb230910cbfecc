"""Programs that know how often they acquire each lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attaching import Target, attach, until
from launching import TIMEOUT_S, Interpreter, Run, must_run

from sonde.record.shm.layout import HEADER_SIZE
from sonde.views.locks.lock_activity import Activity, LockActivity, lock_activity
from sonde.views.locks.lock_table import lock_table

PROGRAM = Path(__file__).parent / "programs" / "acquires.py"
OPTIONS = ("--what", "+lock-activity", "--lock-activity-every", "5")
# Of the locks below 6,000 samples and more: a standard error of 1.3 % at most, and less where a
# thread acquires little else.
CLOSE = 0.03


@pytest.fixture(scope="module")
def launched(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    return must_run(keep(f"acquires-{python.version}"), [python.path, PROGRAM], *OPTIONS)


@pytest.fixture(scope="module")
def late(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    path = keep(f"acquires-late-{python.version}")
    with Target(python, PROGRAM, "wait") as target:
        recorder = attach(target.pid, path, *OPTIONS)
        until(lambda: armed(target.pid), "the hooks", recorder)
        target.write("\n")
        assert target.process.stdout is not None
        facts = target.process.stdout.readline()
        recorder.terminate()
        _, err = recorder.communicate(timeout=TIMEOUT_S)
        assert recorder.returncode == 0, err
        code, _, err = target.end("\n")
    return Run(code, facts, err, path)


def maps(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def armed(pid: int) -> bool:
    """The slots are mapped a second time once the hooks are in place."""
    of_memory = [line.split() for line in maps(pid).splitlines() if "memfd:sonde" in line]
    return sum(int(offset, 16) == HEADER_SIZE for _, _, offset, *_ in of_memory) > 1


def activity(run: Run) -> Activity:
    found = lock_activity(run.recording)
    assert found is not None
    return found


def lock(run: Run, name: str) -> LockActivity:
    """The one whose name has this in it."""
    (found,) = [row for row in activity(run).locks if name in row.name and row.samples > 20]
    return found


def check_counts(run: Run) -> None:
    told = run.told
    expected = {
        "with self.lock": told["acquired"]["Account.deposit"],
        "bare.acquire": told["acquired"]["calls"],
        "again": told["acquired"]["outer"] + told["acquired"]["inner"],
    }
    for name, number in expected.items():
        assert lock(run, name).acquisitions.number == pytest.approx(number, rel=CLOSE), name
    again = lock(run, "again")
    assert again.recursive.number == pytest.approx(told["acquired"]["inner"], rel=CLOSE)
    # By number: the name of a thread that is over soon may be unknown.
    made = [row.acquisitions for row in activity(run).threads]
    for number in told["by_thread"].values():
        # The machinery of a thread acquires some locks as the thread begins and ends.
        assert any(number <= found <= number + 20 for found in made), made


def test_a_launched_program(launched: Run) -> None:
    check_counts(launched)


def test_a_program_that_runs_already(late: Run) -> None:
    check_counts(late)


def test_contention_and_holds(launched: Run) -> None:
    told, gate, bare = launched.told, lock(launched, "gate.acquire"), lock(launched, "bare.acquire")
    assert not bare.contended.number
    assert not bare.recursive.number
    share = told["waited"] / told["gate"]
    error = np.sqrt(share * (1 - share) / gate.samples)
    contended = gate.contended.number / gate.acquisitions.number
    assert abs(contended - share) < 5 * error + 0.02
    assert gate.threads == 2
    slow = lock(launched, "with slow")
    assert slow.hold is not None
    recording = launched.recording
    mine = recording.locks.address[recording.lock_samples.lock] == slow.address
    median = np.median(recording.lock_samples.hold_ns[mine])
    assert median == pytest.approx(told["held"]["holds"], rel=0.1)
    assert slow.hold.max >= slow.hold.mean >= 20_000
    # Its row in the table of contended locks is the same lock's.
    (row,) = [row for row in lock_table(launched.recording).rows if row.activity == gate]
    assert row.waits > 0.5 * told["waited"]
