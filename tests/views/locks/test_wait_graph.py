"""Who waits for whom, at a moment of a recording and from plain waits."""

from __future__ import annotations

import json

from sonde.views.locks.wait_graph import Wait, graph_of, waits
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

TAKE = " > _thread.lock.__enter__"


def deadlocked() -> Maker:
    make = Maker()
    make.enter("b", "one", 100 * MS, f"ab:6{TAKE}")
    make.enter("a", "two", 101 * MS, f"ba:10{TAKE}")
    make.enter("a", "bystander", 150 * MS, f"idle:13{TAKE}")
    make.held("b", "two", 900 * MS, "ba:10")
    make.held("a", "one", 901 * MS, "ab:6")
    return make


def test_a_deadlock() -> None:
    found = waits(deadlocked().recording())
    assert found.at_ns == 1_000 * MS
    assert "the end" in found.why
    assert [(w.thread, w.owner_thread, w.waited_ns // MS, w.open) for w in found.waits] == [
        ("one", "two", 900, True),
        ("two", "one", 899, True),
        ("bystander", "one", 850, True),
    ]
    assert found.deadlocks == [[0, 1]]
    assert found.chains == [[2, 0, 1]]
    assert [f.name for f, _ in found.waits[0].chain] == ["ab", "_thread.lock.__enter__"]
    assert [(f.name, line) for f, line in found.waits[0].owner_chain or []] == [("ba", 10)]
    json.dumps(found.to_json())


def test_without_a_holder_it_is_not_called_a_deadlock() -> None:
    make = Maker()
    make.enter("b", "one", 100 * MS)
    make.enter("a", "two", 101 * MS)
    found = waits(make.recording())
    assert [w.owner_thread for w in found.waits] == [None, None]
    assert found.deadlocks == []


def nested() -> Maker:
    make = Maker()
    make.enter("a", "t", 100 * MS, f"outer:1{TAKE}")
    make.enter("b", "holder", 120 * MS, f"inner:2{TAKE}")
    make.release("b", "root", 180 * MS, "busy:3")
    make.entered("b", "holder", 181 * MS)
    make.release("a", "holder", 200 * MS, "inner:4")
    make.entered("a", "t", 201 * MS)
    return make


def test_a_moment() -> None:
    recording = nested().recording()
    found = waits(recording, at_ns=150 * MS)
    assert [(w.thread, w.owner_thread, w.waited_ns // MS) for w in found.waits] == [
        ("t", "holder", 50),
        ("holder", "root", 30),
    ]
    assert found.chains == [[0, 1]]
    assert waits(recording, at_ns=99 * MS).waits == []
    assert [w.thread for w in waits(recording, at_ns=190 * MS).waits] == ["t"]


def test_while_it_is_handed_over_nobody_has_it() -> None:
    (wait,) = waits(nested().recording(), at_ns=200 * MS + 500).waits
    assert wait.owner_thread is None


def test_unless_told_it_is_the_moment_most_waited() -> None:
    found = waits(nested().recording())
    assert found.at_ns == 120 * MS
    assert len(found.waits) == 2


def test_signals_are_no_ownership() -> None:
    make = Maker()
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 2)
    chain = "work:1 > Condition.wait:4 > _thread.lock.acquire"
    make.wait("s", "t", "a", 0, 10 * MS, chain)
    found = waits(make.recording(), at_ns=5 * MS)
    assert (found.waits[0].signalling, found.waits[0].owner_thread) == (True, "a")
    assert found.chains == [[0]]


def test_it_obeys_the_selection() -> None:
    found = waits(nested().recording(), Selection(thread="holder"), at_ns=150 * MS)
    assert [w.thread for w in found.waits] == ["holder"]


def test_nobody_waits() -> None:
    found = waits(Maker().recording())
    assert (found.waits, found.why) == ([], "no waits")


def wait(tid: int, owner: int | None, lock: str, kind: str = "lock", process: int = 1) -> Wait:
    return Wait(
        thread=f"t{tid}",
        tid=tid,
        process=process,
        lock=lock,
        short=lock,
        kind=kind,
        signalling=kind == "join",
        waited_ns=tid,
        chain=[],
        owner_thread=None if owner is None else f"t{owner}",
        owner_tid=owner,
    )


def test_a_live_look_gives_the_same_picture() -> None:
    found = graph_of([wait(1, 2, "a"), wait(2, 1, "b"), wait(3, 9, "c")])
    assert found.at_ns is None
    assert [[found.waits[i].thread for i in cycle] for cycle in found.deadlocks] == [["t2", "t1"]]
    assert [[found.waits[i].thread for i in chain] for chain in found.chains] == [["t3"]]


def test_a_join_can_close_the_circle() -> None:
    found = graph_of([wait(1, 2, "a", "join"), wait(2, 1, "b")])
    assert len(found.deadlocks) == 1


def test_threads_of_two_processes_are_not_one() -> None:
    found = graph_of([wait(1, 2, "a", process=1), wait(2, 1, "b", process=2)])
    assert found.deadlocks == []
