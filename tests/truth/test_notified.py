"""Waits for a notification, and then for the lock, beside what the program measured itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launching import Interpreter, Run, must_run
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from truth.stacks import PROGRAMS

ROUNDS = "20"
WAITERS = 4
CHARGED = 0.95


@pytest.fixture(scope="session")
def notified(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    command = [python.path, PROGRAMS / "notified.py", ROUNDS]
    return must_run(keep(f"notified-{python.version}"), command, "--what", "cpu,locks")


def blamed(run: Run, kind: str) -> tuple[dict[str | None, int], int]:
    """Who the waiters' waiting of this kind is charged to, and how much follows a notification."""
    owners: dict[str | None, int] = {}
    after = 0
    for i in range(WAITERS):
        selection = Selection(thread=f"waiter-{i}")
        found = locks(run.recording, selection, by=("kind", "owner_thread"), chains=False)
        for row in found.rows:
            if row.value == kind:
                after += row.after_notification_ns
                for child in row.children:
                    owners[child.value] = owners.get(child.value, 0) + child.wait_ns
    return owners, after


def test_who_notified_is_charged(notified: Run) -> None:
    owners, after = blamed(notified, "condition")
    total = sum(owners.values())
    assert total == pytest.approx(notified.told["spent"]["condition"], rel=1 - CHARGED)
    assert owners["MainThread"] >= CHARGED * total
    assert after == 0


def test_after_the_notification_the_holders_are_charged(notified: Run) -> None:
    owners, after = blamed(notified, "rlock")
    total = sum(owners.values())
    # The rest of it is the GIL, which a thread needs before it can want the lock.
    gil, _ = blamed(notified, "gil")
    told = notified.told["spent"]["after"]
    assert total <= told
    assert total + sum(gil.values()) >= 0.9 * told
    assert after >= CHARGED * total
    fellows = sum(ns for name, ns in owners.items() if (name or "").startswith("waiter"))
    assert fellows >= 0.9 * total
