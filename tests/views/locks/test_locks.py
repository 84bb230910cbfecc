"""The locks view: every nanosecond in its row, whatever the aspects."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from sonde.errors import UsageError
from sonde.recording.tables import Recording
from sonde.row_values import PREEXISTING
from sonde.views.locks import contentions as contended_module
from sonde.views.locks.locks import ASPECTS, DEFAULT, Locks, LocksRow, aspects, locks
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

ENTER_LOCK = " > _thread.lock.__enter__"
EXIT_LOCK = " > _thread.lock.__exit__"
BY_NUMBER = f"main:3 > query_by_number:12{ENTER_LOCK}"
BY_NAME = f"main:4 > query_by_name:22{ENTER_LOCK}"
NAMES_HELD = f"main:4 > query_by_name:23{EXIT_LOCK}"
NUMBERS_HELD = f"main:3 > query_by_number:13{EXIT_LOCK}"


def products() -> Maker:
    """Hofer's example: queries by number wait, queries by name are to blame."""
    make = Maker()
    make.wait("products", "w1", "w2", 0, 50 * MS, BY_NUMBER, NAMES_HELD)
    make.wait("products", "w3", "w2", 60 * MS, 90 * MS, BY_NUMBER, NAMES_HELD)
    make.wait("products", "w2", "w1", 100 * MS, 110 * MS, BY_NAME, NUMBERS_HELD)
    make.enter("products", "w1", 200 * MS, BY_NUMBER)
    make.gave_up("products", "w1", 205 * MS)
    make.lock("gil", "gil")
    make.wait("gil", "w3", "w1", 300 * MS, 304 * MS, "main:3 > query_by_number:14", "main:3 > f:9")
    return make


def told(rows: list[LocksRow]) -> list[Any]:
    """Rows as short as they can be said."""
    return [
        (
            _value(row.value),
            row.wait_ns // MS,
            row.count,
            *([told(row.children)] * bool(row.children)),
        )
        for row in rows
    ]


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [frame["name"] for frame in value]
    return value["name"] if isinstance(value, dict) else value


def test_who_is_to_blame() -> None:
    found = locks(products().recording(), by=("waiter_function", "owner_function"))
    assert told(found.rows) == [
        ("query_by_number", 89, 4, [("query_by_name", 80, 2), (None, 5, 1), ("f", 4, 1)]),
        ("query_by_name", 10, 1, [("query_by_number", 10, 1)]),
    ]
    assert found.total_ns == 99 * MS
    assert found.unknown_ns == 5 * MS
    assert found.count == 5


def test_the_default_aspects() -> None:
    found = locks(products().recording())
    lock, gil = found.rows
    assert (lock.value, gil.value) == ("lock", "gil")
    assert gil.children[0].value == "GIL"
    (products_,) = lock.children
    assert products_.value == "query_by_number in app.py:12 and 1 more place"
    assert told(products_.children)[0] == (
        ["main", "query_by_name", "_thread.lock.__exit__"],
        80,
        2,
        [(["main", "query_by_number", "_thread.lock.__enter__"], 80, 2)],
    )


def test_json_is_as_agreed() -> None:
    found = locks(products().recording()).to_json()
    json.dumps(found)
    assert found["total_ns"] == 99 * MS
    row = found["rows"][0]
    assert row["key"] == {"kind": "lock"}
    assert (row["wait_ns"], row["count"], row["max_ns"]) == (95 * MS, 4, 50 * MS)
    assert row["signalling"] is False
    chain = row["children"][0]["children"][0]
    assert chain["key"]["owner_chain"] == [
        {"name": "main", "file": "/app/app.py", "line": 4, "first_line": 1, "runtime": "cpython"},
        {
            "name": "query_by_name",
            "file": "/app/app.py",
            "line": 23,
            "first_line": 1,
            "runtime": "cpython",
        },
        {
            "name": "_thread.lock.__exit__",
            "file": "<built-in>",
            "line": 0,
            "first_line": 0,
            "runtime": "cpython",
        },
    ]
    unknown = [r for r in row["children"][0]["children"] if r["key"]["owner_chain"] is None]
    assert [r["wait_ns"] for r in unknown] == [5 * MS]


def leaves(rows: list[LocksRow]) -> int:
    return sum(leaves(row.children) if row.children else row.wait_ns for row in rows)


@pytest.mark.parametrize("by", [*itertools.permutations(ASPECTS, 2), ASPECTS, ASPECTS[::-1]])
def test_rows_add_up_by_any_aspects_in_any_order(by: tuple[str, ...]) -> None:
    found = locks(products().recording(), by=by)
    assert sum(row.wait_ns for row in found.rows) == found.total_ns == 99 * MS
    assert leaves(found.rows) == found.total_ns
    waits = [row.wait_ns for row in found.rows]
    assert waits == sorted(waits, reverse=True)


def test_a_wait_of_two_owners_counts_with_each() -> None:
    make = Maker()
    make.enter("l", "t", 0, "work:1")
    make.release("l", "a", 30 * MS, "hold_a:1")
    make.release("l", "b", 80 * MS, "hold_b:1")
    make.release("l", "a", 90 * MS, "hold_a:1")
    make.entered("l", "t", 91 * MS)
    found = locks(make.recording(), by=("lock", "owner_thread"))
    (row,) = found.rows
    assert (row.count, row.max_ns) == (1, 91 * MS)
    assert told(row.children) == [("b", 50, 1), ("a", 41, 1)]
    # What a wait has with one owner is one entry of that owner's histogram.
    assert row.children[1].histogram == [(1 << 26, 1)]


def test_the_histogram_counts_every_wait_once() -> None:
    make = Maker()
    at = 0
    for ns in (1, 2, 3, 4, 5, 1000, 1024, 1025):
        make.wait("l", "t", "a", at, at + ns)
        at += 10_000
    (row,) = locks(make.recording(), by=("lock",)).rows
    assert row.histogram == [(1, 1), (2, 1), (4, 2), (8, 1), (1024, 2), (2048, 1)]
    assert sum(count for _, count in row.histogram) == row.count


def test_a_wait_without_length_counts() -> None:
    make = Maker()
    make.wait("l", "t", "a", 5, 5)
    found = locks(make.recording(), by=("lock",))
    assert (found.total_ns, found.count, found.rows[0].histogram) == (0, 1, [(1, 1)])


def test_a_thread_that_lies_down_again_waits_once() -> None:
    make = Maker()
    make.lock("l", "parked")
    make.wait("l", "t", "a", 0, 100, f"work:1{ENTER_LOCK}")
    make.wait("l", "t", "b", 105, 200, f"work:1{ENTER_LOCK}")
    (row,) = locks(make.recording(), by=("lock",)).rows
    assert (row.wait_ns, row.count, row.max_ns) == (195, 1, 195)


def test_signals_are_told_apart() -> None:
    make = Maker()
    make.define("Queue.get", "/usr/lib/python3.12/queue.py", 154)
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 323)
    sleeping = "worker:7 > Queue.get:171 > Condition.wait:355 > _thread.lock.acquire"
    make.wait("made for one sleep", "w", "main", 0, 40 * MS, sleeping, "feed:3")
    make.wait("made for the next", "w", "main", 50 * MS, 60 * MS, sleeping, "feed:4")
    make.wait("l", "w", "main", 70 * MS, 75 * MS, f"worker:8{ENTER_LOCK}", f"feed:5{EXIT_LOCK}")
    found = locks(make.recording(), by=("kind", "lock", "owner_function"))
    queue, lock = found.rows
    assert (queue.value, queue.signalling, queue.signalling_ns) == ("queue", True, 50 * MS)
    # The same place of the program is one row, whatever it slept on.
    assert told(queue.children) == [("worker in app.py:7", 50, 2, [("feed", 50, 2)])]
    assert (lock.value, lock.signalling) == ("lock", False)
    (mixed,) = locks(make.recording(), by=("waiter_thread",)).rows
    assert (mixed.signalling, mixed.signalling_ns, mixed.wait_ns) == (False, 50 * MS, 55 * MS)


def test_the_same_lock_is_one_row_wherever_it_is_taken() -> None:
    make = Maker()
    make.wait("l", "t", "a", 0, 10 * MS, f"one:1{ENTER_LOCK}")
    make.wait("l", "t", "a", 20 * MS, 50 * MS, f"two:2{ENTER_LOCK}")
    make.wait("l", "t", "a", 60 * MS, 65 * MS, f"three:3{ENTER_LOCK}")
    (row,) = locks(make.recording(), by=("lock",)).rows
    assert row.value == "two in app.py:2 and 2 more places"


def test_locks_of_one_name_are_told_apart() -> None:
    make = Maker()
    for lock in ("first", "second"):
        make.wait(lock, "t", "a", 0, MS, f"get:41{ENTER_LOCK}")
    names = {row.value for row in locks(make.recording(), by=("lock",)).rows}
    assert names == {"get in app.py:41 (0x1000)", "get in app.py:41 (0x2000)"}


def test_memory_used_again_by_another_kind_is_another_lock() -> None:
    make = Maker()
    make.wait("l", "t", "a", 0, MS, "one:1 > _thread.lock.acquire")
    make.wait("l", "t", "a", 2 * MS, 4 * MS, "two:1 > _thread.RLock.acquire")
    rows = locks(make.recording(), by=("kind", "lock")).rows
    assert told(rows) == [
        ("rlock", 2, 1, [("two in app.py:1", 2, 1)]),
        ("lock", 1, 1, [("one in app.py:1", 1, 1)]),
    ]


def test_a_with_statement_is_known_by_who_let_go() -> None:
    """Up to 3.13 the waiter's chain ends in the program."""
    make = Maker()
    make.wait("l", "t", "a", 0, MS, "one:1", "hold:2 > _thread.RLock.__exit__")
    make.enter("l", "t", 2 * MS, "one:1")
    make.gave_up("l", "t", 3 * MS)
    make.wait("m", "t", "a", 5 * MS, 6 * MS, "one:1", "hold:2")
    rows = locks(make.recording(), by=("kind",)).rows
    # What gave up knows it from its neighbour, what has none is a plain lock.
    assert told(rows) == [("rlock", 2, 2), ("lock", 1, 1)]


def test_gils() -> None:
    make = Maker()
    child = make.process(200)
    make.thread("c", process=child)
    make.thread("d", process=child)
    make.lock("gil", "gil")
    make.lock("child's", "gil", process=child)
    make.wait("gil", "t", "a", 0, 2 * MS)
    make.wait("child's", "c", "d", 0, MS)
    rows = locks(make.recording(), by=("lock",)).rows
    assert told(rows) == [("GIL (pid 100)", 2, 1), ("GIL (pid 200)", 1, 1)]


def test_the_gil_of_an_interpreter_is_known_by_its_threads() -> None:
    make = Maker()
    make.lock("gil", "gil")
    make.lock("inner", "gil")
    make.wait("gil", "t", "a", 0, 5 * MS)
    make.wait("inner", "in interpreter 2", "b", 0, 4 * MS)
    make.wait("inner", "t", "b", 6 * MS, 7 * MS)  # on its way into that interpreter
    recording = make.recording()
    recording.threads.interpreter[recording.threads.name.index("in interpreter 2")] = 2
    rows = locks(recording, by=("lock",)).rows
    assert [row.value for row in rows] == ["GIL", "GIL of interpreter 2"]


def test_threads_of_one_name_are_told_apart() -> None:
    make = Maker()
    make.thread("worker")
    make.threads["worker "] = [0, 1001, 0, -1, -1]
    make.wait("l", "worker", "a", 0, 2 * MS)
    make.wait("l", "worker ", "a", 3 * MS, 4 * MS)
    recording = make.recording()
    recording.threads.name[1] = "worker"
    rows = locks(recording, by=("waiter_thread",)).rows
    assert told(rows) == [("worker (1000)", 2, 1), ("worker (1001)", 1, 1)]


def test_it_obeys_the_selection() -> None:
    recording = products().recording()
    of_w3 = locks(recording, Selection(thread="w3"), by=("kind",))
    assert told(of_w3.rows) == [("lock", 30, 1), ("gil", 4, 1)]
    part = locks(recording, Selection(start_ns=40 * MS, end_ns=70 * MS), by=("waiter_thread",))
    assert told(part.rows) == [("w1", 10, 1), ("w3", 10, 1)]
    assert part.total_ns == 20 * MS


def test_top_keeps_the_totals() -> None:
    found = locks(products().recording(), by=("waiter_function", "owner_function"), top=1)
    assert told(found.rows) == [("query_by_number", 89, 4, [("query_by_name", 80, 2)])]
    assert found.total_ns == 99 * MS


def test_chains_of_owners() -> None:
    make = Maker()
    make.enter("a", "t", 0, "outer:1")
    make.enter("b", "holder", 10 * MS, "inner:2")
    make.release("b", "root", 80 * MS, "busy:3")
    make.entered("b", "holder", 80 * MS)
    make.release("a", "holder", 90 * MS, "inner:4")
    make.entered("a", "t", 90 * MS)
    (chain,) = locks(make.recording()).chains
    assert chain.wait_ns == 70 * MS
    assert [(lock, function.name) for lock, function in chain.links if function] == [
        ("outer in app.py:1", "inner"),
        ("inner in app.py:2", "busy"),
    ]
    assert chain.to_json()["links"][1]["owner_function"]["name"] == "busy"


def test_nothing_recorded() -> None:
    found = locks(Maker().recording())
    assert (found.total_ns, found.rows, found.chains) == (0, [], [])


def test_aspects_are_read_from_text() -> None:
    assert aspects("lock, owner_chain") == ("lock", "owner_chain")
    assert aspects(",".join(DEFAULT)) == DEFAULT
    for wrong in ("", "lock,lock", "colour", "lock;kind"):
        with pytest.raises(UsageError):
            aspects(wrong)


def test_a_lock_between_processes_names_the_other_one() -> None:
    make = Maker()
    child = make.process(200)
    make.thread("there", process=child)
    make.lock("l", "shared")
    make.wait("l", "here", "there", 0, MS, "a:1 > _multiprocessing.SemLock.__enter__", "b:2")
    # Each process numbers its own events.
    (entered, released, got) = make.lock_events
    make.lock_events = [entered, (*released[:3], 1, *released[4:]), (*got[:3], 2, *got[4:])]
    found = locks(make.recording(), by=("kind", "owner_thread"))
    assert told(found.rows) == [("process", 1, 1, [("there", 1, 1)])]


def test_the_type_of_the_result() -> None:
    assert isinstance(locks(products().recording()), Locks)


def test_samples_are_read_only_where_a_wait_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = contended_module._awake

    def awake(recording: Recording) -> list[int]:
        asked.append(recording.path)
        return real(recording)

    monkeypatch.setattr(contended_module, "_awake", awake)
    locks(products().recording())
    assert not asked
    make = products()
    make.event(PREEXISTING, "products", "w1", 400 * MS, BY_NUMBER)
    locks(make.recording())
    assert asked == ["app.sonde"]
