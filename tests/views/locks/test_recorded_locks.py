"""Kinds, names and owners in recordings of a real program, on every version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from launching import TARGETS, Interpreter, must_run
from sonde.views.locks.locks import LocksRow, locks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = TARGETS / "lock_kinds.py"


@dataclass(frozen=True)
class Expected:
    """What one function of the program waits for, and because of whom."""

    kind: str
    name: str
    owner: str | None
    signalling: bool = False


DO_LATER = "later.<locals>.do_later"
HOLD = "held.<locals>.hold"
EXPECTED = {
    "wait_lock.<locals>.take": Expected("lock", "`with lock`", HOLD),
    "wait_lock_timeout.<locals>.take": Expected("lock", "`lock.acquire(timeout=HOLD / 4)`", HOLD),
    "wait_rlock.<locals>.take": Expected("rlock", "`with rlock`", HOLD),
    "wait_semaphore.<locals>.take": Expected("semaphore", "`semaphore.acquire()`", HOLD),
    "wait_condition": Expected(
        "condition", "`condition.wait()`", "wait_condition.<locals>.signal", True
    ),
    "wait_event": Expected("event", "`event.wait()`", DO_LATER, True),
    "wait_event_timeout": Expected("event", "`threading.Event().wait(HOLD / 4)`", None, True),
    "wait_barrier": Expected("barrier", "`barrier.wait()`", DO_LATER, True),
    "wait_queue": Expected("queue", "`items.get()`", DO_LATER, True),
    "wait_full_queue": Expected("queue", "`items.put(1)`", DO_LATER, True),
    "wait_simple_queue": Expected("queue", "`items.get()`", DO_LATER, True),
    "wait_join": Expected("join", "`beside(ends_later).join()`", "[no Python frames]", True),
    "wait_future": Expected("future", "`future.result()`", "_WorkItem.run", True),
    "wait_futures": Expected(
        "future",
        "`concurrent.futures.wait(futures)`",
        "_AllCompletedWaiter._decrement_pending_calls",
        True,
    ),
    "wait_import": Expected("import", "`import slow_to_import`", "wait_import.<locals>.imports"),
    "wait_io": Expected("io", "`stream.read(1)`", "wait_io.<locals>.reads"),
    "Handler.handle": Expected("rlock", "", "Handler.handle"),
    "wait_gil": Expected("gil", "GIL", "wait_gil.<locals>.burns"),
}


@pytest.fixture(scope="module")
def rows(
    python: Interpreter, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], LocksRow]:
    """The row of each function and kind."""
    folder = tmp_path_factory.mktemp("module")
    run = must_run(keep("kinds"), [python.path, PROGRAM, folder], "--what", "cpu,locks")
    found = locks(run.recording, by=("waiter_function", "kind", "lock", "owner_function"))
    assert sum(row.wait_ns for row in found.rows) == found.total_ns
    return {
        (row.value["name"], kind.value): kind
        for row in found.rows
        if row.value is not None
        for kind in row.children
    }


@pytest.mark.parametrize("function", EXPECTED)
def test_kind_name_and_owner(rows: dict[tuple[str, str], LocksRow], function: str) -> None:
    expected = EXPECTED[function]
    row = rows.get((function, expected.kind))
    assert row is not None, sorted(rows)
    # A waiter that was notified may have to wait for somebody for some microseconds more.
    assert (row.signalling_ns > 0.9 * row.wait_ns) is expected.signalling
    lock = row.children[0]
    assert lock.value.startswith(expected.name)
    assert _name(lock.children[0].value) == expected.owner


def _name(value: Any) -> str | None:
    return None if value is None else str(value["name"])
