"""What holders did while others waited: from CPU samples and waits, adding up in every row."""

from __future__ import annotations

import itertools

import pytest

from sonde.errors import UsageError
from sonde.model.locks.holder_activity import MIN_SAMPLES
from sonde.views.findings.findings import findings
from sonde.views.locks.locks import ASPECTS, LocksRow, locks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import tree
from synthetic import MS, Maker

HOLDS = "main:3 > both:9"
ENTERS = " > _thread.lock.__enter__"
EXITS = " > _thread.lock.__exit__"


def held_over_two(*, waits: bool = True, kind: str = "semaphore") -> Maker:
    """A lock held for 16 ms at a time: 4 ms in lookup, on CPU, and 12 ms in fetch, off CPU.

    Two threads wait for it, one from the beginning of each hold, one from its middle.
    """
    make = Maker(what=["cpu", "waits", "locks"] if waits else ["cpu", "locks"])
    make.lock("l", kind)
    for hold in range(20):
        at = hold * 20 * MS
        # Before the hold, and no part of it.
        make.sample("main:3 > prepare:5", 1 * MS, thread="holder", time=at)
        for tick in range(1, 5):
            make.sample(f"{HOLDS} > lookup:12", MS, thread="holder", time=at + tick * MS)
        if waits:
            fetch = f"{HOLDS} > fetch:15 > time.sleep"
            make.sample(fetch, 12 * MS, thread="holder", state=1, time=at + 16 * MS)
        make.enter("l", "early", at, f"other:21{ENTERS}")
        make.enter("l", "late", at + 8 * MS, f"other:21{ENTERS}")
        make.release("l", "holder", at + 16 * MS, f"{HOLDS}{EXITS}")
        make.entered("l", "early", at + 16 * MS)
        make.entered("l", "late", at + 16 * MS)
    return make


def told(rows: list[LocksRow]) -> dict[str | None, float]:
    return {row.value and row.value["name"]: row.wait_ns / MS for row in rows}


def test_a_hold_is_divided_by_what_its_holder_did() -> None:
    found = locks(held_over_two().recording(), by=("held_in_function",))
    # early: 4 ms and 12 ms of each hold; late: 8 ms, all of it while the holder slept.
    assert told(found.rows) == {"fetch": 20 * 20.0, "lookup": 20 * 4.0}
    assert found.held_samples == 80
    assert [row.samples for row in found.rows] == [0, 80]


def test_the_chain_is_that_of_the_sample() -> None:
    found = locks(held_over_two().recording(), by=("lock", "held_in_chain"))
    chains = [[frame["name"] for frame in row.value] for row in found.rows[0].children]
    assert chains == [["main", "both", "fetch", "time.sleep"], ["main", "both", "lookup"]]


def test_without_waits_the_off_cpu_time_is_unknown() -> None:
    found = locks(held_over_two(waits=False).recording(), by=("held_in_function",))
    assert told(found.rows) == {None: 20 * 20.0, "lookup": 20 * 4.0}


def test_who_holds_the_gil_runs() -> None:
    """The time between samples is that of the samples."""
    found = locks(held_over_two(waits=False, kind="gil").recording(), by=("held_in_function",))
    assert told(found.rows) == {"lookup": 20 * 24.0}


def test_too_few_samples_say_nothing() -> None:
    make = Maker()
    make.lock("l", "gil")
    for tick in range(1, MIN_SAMPLES):
        make.sample("main:1 > work:2", MS, thread="holder", time=tick * MS)
    make.wait("l", "waiter", "holder", 0, 100 * MS)
    found = locks(make.recording(), by=("held_in_function",))
    assert told(found.rows) == {None: 100.0}
    make.sample("main:1 > work:2", MS, thread="holder", time=MIN_SAMPLES * MS)
    found = locks(make.recording(), by=("held_in_function",))
    assert told(found.rows) == {"work": 100.0}


def test_a_holder_that_waits_for_a_lock_itself_is_seen_without_waits() -> None:
    make = Maker(what=["cpu", "locks"])
    make.wait("inner", "holder", "third", 10 * MS, 90 * MS, f"main:1 > nested:7{ENTERS}")
    make.wait("outer", "waiter", "holder", 0, 100 * MS)
    found = locks(make.recording(), by=("lock", "held_in_function"))
    outer = next(row for row in found.rows if row.wait_ns == 100 * MS)
    assert told(outer.children) == {"nested": 80.0, None: 20.0}


def test_nobody_holds_a_notification() -> None:
    make = Maker()
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 300)
    waits = "main:1 > Condition.wait:327 > _thread.lock.acquire"
    make.wait("l", "waiter", "holder", 0, 50 * MS, waits, "main:2 > put:3")
    found = locks(make.recording(), by=("held_in_function",))
    assert found.signalling_ns == 50 * MS
    assert told(found.rows) == {None: 50.0}


def test_after_the_release_nobody_holds_it() -> None:
    make = Maker()
    make.lock("l", "gil")
    for tick in range(1, 51):
        make.sample("main:1 > work:2", MS, thread="holder", time=tick * MS)
    make.enter("l", "waiter", 0)
    make.release("l", "holder", 40 * MS)
    make.entered("l", "waiter", 45 * MS)
    recording = make.recording()
    found = locks(recording, by=("held_in_function",))
    assert told(found.rows) == {"work": 40.0, "[released]": 5.0}
    found = locks(recording, by=("held_in_chain", "waiter_thread"))
    assert [len(row.value) for row in found.rows] == [2, 1]
    assert tree(recording, Selection("wall"), while_held="gil").total_ns == 40 * MS


def test_who_is_off_cpu_at_the_release_acquires_it_later() -> None:
    """Another thread gets in before the waiter wakes up."""
    make = Maker()
    make.lock("l", "gil")
    make.sample("main:1 > pause:3 > time.sleep", 60 * MS, thread="late", state=1, time=60 * MS)
    for tick in range(61, 101):
        make.sample("main:1 > work:2", MS, thread="late", time=tick * MS)
    make.enter("l", "waiter", 0)
    make.release("l", "first", 40 * MS)
    make.release("l", "late", 100 * MS)
    make.entered("l", "waiter", 100 * MS)
    found = locks(make.recording(), by=("owner_thread", "held_in_function"))
    late, first = found.rows
    assert told(late.children) == {"work": 40.0, "[released]": 20.0}
    assert told(first.children) == {None: 40.0}


HELD = ("held_in_function", "held_in_chain")


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    "by", [pair for pair in itertools.permutations(ASPECTS, 2) if set(pair) & set(HELD)]
)
def test_rows_add_up(by: tuple[str, ...], waits: bool) -> None:
    found = locks(held_over_two(waits=waits).recording(), by=by)
    assert sum(row.wait_ns for row in found.rows) == found.total_ns == 480 * MS
    for row in found.rows:
        assert sum(child.wait_ns for child in row.children) == row.wait_ns


def test_many_samples_are_thinned_and_keep_their_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.model.locks.holder_activity.MAX_SAMPLES", 100)
    make = Maker()
    make.lock("l", "gil")
    for tick in range(1, 1001):
        name = "often" if tick % 4 else "seldom"
        make.sample(f"main:1 > {name}:2", MS, thread="holder", time=tick * MS)
    make.wait("l", "waiter", "holder", 0, 1000 * MS)
    found = locks(make.recording(), by=("held_in_function",))
    assert sum(row.wait_ns for row in found.rows) == 1000 * MS
    assert found.held_samples == 100


def test_the_tree_of_holders() -> None:
    recording = held_over_two().recording()
    for name in ("other", "other in app.py:21"):
        found = tree(recording, Selection("wall"), while_held=name, merge_lines=True)
        assert {node.name: node.self_ns // MS for node in found.nodes if node.self_ns} == {
            "lookup": 80,
            "time.sleep": 400,
        }
        assert found.total_ns == 480 * MS
    running = tree(recording, Selection("running"), while_held="other")
    assert running.total_ns == 80 * MS
    early = tree(recording, Selection("wall", thread="early"), while_held="other")
    assert early.total_ns == 320 * MS


def test_the_tree_of_holders_says_what_was_not_sampled() -> None:
    found = tree(held_over_two(waits=False).recording(), Selection("wall"), while_held="other")
    (unknown,) = (node for node in found.nodes if node.name == "[not sampled]")
    assert (unknown.parent, unknown.self_ns) == (None, 400 * MS)
    running = tree(held_over_two(waits=False).recording(), Selection("running"), while_held="other")
    assert running.total_ns == 80 * MS


def test_a_lock_that_is_not_there() -> None:
    recording = held_over_two().recording()
    with pytest.raises(UsageError, match=r"no contended lock 'nothing'.*other in app\.py:21"):
        tree(recording, Selection("wall"), while_held="nothing")
    with pytest.raises(UsageError, match="no contended lock 'GIL of'"):
        tree(recording, Selection("wall"), while_held="GIL of")
    assert tree(recording, Selection("wall"), while_held="gil").total_ns == 0


def test_findings_say_what_holders_did() -> None:
    found = findings(held_over_two().recording(), Selection())
    (finding,) = (finding for finding in found if "contention for" in finding.title)
    assert finding.detail.endswith(
        "of that time the holders spent 83 % in fetch (app.py:1), 17 % in lookup (app.py:1) "
        "(80 CPU samples and recorded waits)"
    )
    found = findings(held_over_two(waits=False, kind="gil").recording(), Selection())
    (gil,) = (finding for finding in found if "GIL" in finding.title)
    assert gil.title == "lookup holds the GIL while others wait"
    assert "while lookup (app.py:1) ran (80 CPU samples)" in gil.detail
    assert "held_in_chain" in gil.view
