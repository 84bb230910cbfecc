"""Waits of tasks for each other, cut at the releases of what they wait for."""

from __future__ import annotations

from typing import Any

from sonde.row_values import WOKEN_TIMER
from sonde.views.locks.locks import LocksRow
from sonde.views.loops.loop_locks import locks_and_loops
from sonde.views.selecting.selection import Selection
from views.loops.made import MS, TaskMaker

LOCKS = "/usr/lib/python3.12/asyncio/locks.py"


def maker(tasks: int) -> TaskMaker:
    make = TaskMaker()
    for name in ("Lock.acquire", "Event.wait", "Condition.wait"):
        make.define(name, LOCKS, 10)
    for number in range(1, tasks + 1):
        make.task(number)
    return make


def owners(rows: list[LocksRow]) -> dict[Any, dict[Any, int]]:
    return {
        waiter.value: {owner.value: owner.wait_ns // MS for owner in waiter.children}
        for waiter in rows
    }


BY = ("waiter_task", "owner_task")


def test_a_wait_for_a_lock_is_cut_at_each_release() -> None:
    make = maker(3)
    chain = "coro{}:1 > Lock.acquire:12"
    make.suspended(2, chain.format(2), 0, 10, by=1, object_=64)
    make.suspended(3, chain.format(3), 4, 30, by=2, object_=64)
    found = locks_and_loops(make.tasked(), by=BY)
    assert owners(found.rows) == {"task-2": {"task-1": 10}, "task-3": {"task-1": 6, "task-2": 20}}
    assert (found.task_ns, found.signalling_ns, found.unknown_ns) == (36 * MS, 0, 0)


def test_another_lock_cuts_nothing_and_a_timeout_has_no_owner() -> None:
    make = maker(3)
    chain = "coro{}:1 > Lock.acquire:12"
    make.suspended(2, chain.format(2), 0, 10, by=1, object_=64)
    make.suspended(3, chain.format(3), 4, 30, object_=128, woken=WOKEN_TIMER)
    found = locks_and_loops(make.tasked(), by=BY)
    assert owners(found.rows) == {"task-2": {"task-1": 10}, "task-3": {None: 26}}
    assert found.unknown_ns == 26 * MS


def test_a_notification_is_attributed_to_who_sent_it() -> None:
    make = maker(3)
    make.suspended(2, "coro2:1 > Event.wait:20", 0, 10, by=1, object_=64)
    make.suspended(3, "coro3:1 > Event.wait:20", 4, 30, by=1, object_=64)
    found = locks_and_loops(make.tasked(), by=("kind", *BY))
    (event,) = found.rows
    assert event.value == "event"
    assert event.signalling
    assert owners(event.children) == {"task-2": {"task-1": 10}, "task-3": {"task-1": 26}}
    (chain,) = locks_and_loops(make.tasked(), by=("owner_chain",)).rows
    assert [frame["name"] for frame in chain.value] == ["coro9", "release"]


def test_what_timers_end_is_no_wait_for_another_task() -> None:
    make = maker(1)
    make.suspended(1, "coro1:1", 0, 10, woken=WOKEN_TIMER)
    assert locks_and_loops(make.tasked()).total_ns == 0


def test_a_conditions_lock_is_acquired_after_the_notification() -> None:
    make = maker(2)
    make.suspended(2, "coro2:1 > Condition.wait:30 > Lock.acquire:12", 0, 10, by=1, object_=64)
    found = locks_and_loops(make.tasked(), by=("kind",))
    (row,) = found.rows
    assert (row.value, row.after_notification, row.signalling) == ("lock", True, False)


def test_the_waits_of_one_task() -> None:
    make = maker(3)
    make.suspended(2, "coro2:1 > Event.wait:20", 0, 10, by=1)
    make.suspended(3, "coro3:1 > Event.wait:20", 4, 30, by=1)
    found = locks_and_loops(make.tasked(), Selection(task="task-3"), by=BY)
    assert owners(found.rows) == {"task-3": {"task-1": 26}}
