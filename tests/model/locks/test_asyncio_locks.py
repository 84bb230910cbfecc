"""What a suspended task waits for, by its coroutines."""

from __future__ import annotations

import pytest

from sonde.model.locks.asyncio_locks import AwaitedKinds, Place

LOCKS = "/usr/lib/python3.12/asyncio/locks.py"
QUEUES = "/usr/lib/python3.12/asyncio/queues.py"
TASKS = "/usr/lib/python3.12/asyncio/tasks.py"
ANYIO = "/venv/site-packages/anyio/_core/_synchronization.py"
APP = "/app/shop.py"


def place(*chain: tuple[str, str]) -> Place:
    """Of coroutines, outermost first; each has the context of its place in the chain."""
    names, files = zip(*chain, strict=True)
    kinds = AwaitedKinds(range(-1, len(chain) - 1), range(len(chain)), names, files)
    return kinds.place(len(chain) - 1)


@pytest.mark.parametrize(
    ("kind", "chain"),
    [
        ("lock", [("Lock.acquire", LOCKS)]),
        ("lock", [("_ContextManagerMixin.__aenter__", LOCKS), ("Lock.acquire", LOCKS)]),
        ("semaphore", [("Semaphore.acquire", LOCKS)]),
        ("event", [("Event.wait", LOCKS)]),
        ("condition", [("Condition.wait_for", LOCKS), ("Condition.wait", LOCKS)]),
        ("barrier", [("Barrier.wait", LOCKS), ("Condition.wait", LOCKS)]),
        ("queue", [("Queue.get", QUEUES)]),
        ("queue", [("Queue.join", QUEUES), ("Event.wait", LOCKS)]),
        ("queue", [("wait_for", TASKS), ("Queue.get", QUEUES)]),
        ("semaphore", [("CapacityLimiter.acquire", ANYIO), ("Event.wait", LOCKS)]),
        ("future", [("sleep", TASKS)]),
    ],
)
def test_the_outermost_function_of_the_machinery_names_the_kind(
    kind: str, chain: list[tuple[str, str]]
) -> None:
    assert place(("main", APP), ("handle", APP), *chain) == Place(kind, 1, False)


def test_a_condition_acquires_its_lock_again() -> None:
    found = place(("main", APP), ("Condition.wait", LOCKS), ("Lock.acquire", LOCKS))
    assert found == Place("lock", 0, True)


def test_a_future_is_awaited_in_the_program_itself() -> None:
    assert place(("main", APP), ("Lock.acquire", APP)) == Place("future", 1, False)
