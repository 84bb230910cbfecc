"""The reports of waiting, line by line."""

from __future__ import annotations

from typing import Any

from reports.page import printed
from sonde.reports.layout.call_stack import on_one_line, program
from sonde.reports.locks import lock_table as lock_table_report
from sonde.reports.locks import locks as locks_report
from sonde.reports.locks import waits as waits_report
from sonde.views.locks.lock_table import lock_table
from sonde.views.locks.locks import locks
from sonde.views.locks.wait_graph import graph_of, waits
from synthetic import MS, Maker
from views.locks.test_locks import products
from views.locks.test_wait_graph import deadlocked, nested


def told(make: Maker, **options: Any) -> list[str]:
    result = locks(make.recording(), **options)
    return printed(lambda out: locks_report.render(result, out))


def test_locks() -> None:
    assert told(products()) == [
        "Threads waited 99.0 ms in 5 waits: 99.0 ms for locks held by other threads.",
        "",
        "Contention",
        "  waited          waits  longest  kind / lock / held by / waiter's stack",
        " 95.0 ms ░░░░░░       4  50.0 ms  locks",
        " 95.0 ms ░░░░░░       4  50.0 ms    query_by_number in app…y:12 and 1 more place",
        " 80.0 ms ░░░░░        2  50.0 ms      held by query_by_name (app.py:23) < main",
        " 80.0 ms ░░░░░        2  50.0 ms        in query_by_number (app.py:12) < main",
        " 10.0 ms ░            1  10.0 ms      held by query_by_number (app.py:13) < main",
        " 10.0 ms ░            1  10.0 ms        in query_by_name (app.py:22) < main",
        " 5.00 ms ░            1  5.00 ms      held by an unknown thread",
        " 5.00 ms ░            1  5.00 ms        in query_by_number (app.py:12) < main",
        " 4.00 ms ░            1  4.00 ms  the GIL",
        " 4.00 ms ░            1  4.00 ms    GIL",
        " 4.00 ms ░            1  4.00 ms      held by f (app.py:9) < main",
        " 4.00 ms ░            1  4.00 ms        in query_by_number (app.py:14) < main",
        "",
        "For 5.00 ms the holder is unknown: the wait timed out or had not ended, or an",
        "event was lost.",
    ]


def test_by_threads() -> None:
    found = told(products(), by=("owner_thread", "waiter_thread"))
    assert found[2:6] == [
        "  waited          waits  longest  held by / waiter's thread",
        " 80.0 ms ░░░░░        2  50.0 ms  held by w2",
        " 50.0 ms ░░░          1  50.0 ms    by w1",
        " 30.0 ms ░░           1  30.0 ms    by w3",
    ]


def test_signals_have_a_part_of_their_own() -> None:
    make = Maker()
    make.define("Thread.join", "/usr/lib/python3.12/threading.py", 1)
    make.wait("l", "t", "a", 0, 10 * MS, "get:1 > _thread.lock.acquire")
    chain = "main:9 > Thread.join:3 > _thread._ThreadHandle.join"
    make.wait("end", "t", "a", 20 * MS, 500 * MS, chain, "[no Python frames]")
    found = told(make)
    assert found[0] == (
        "Threads waited 490 ms in 2 waits: 10.0 ms for locks held by other threads and"
    )
    at = found.index("Waits for notifications")
    assert found.index("Contention") < at
    assert found[at + 2 :][:3] == [
        "  480 ms ░░░░░░       1   480 ms  the end of threads (join)",
        "  480 ms ░░░░░░       1   480 ms    main in app.py:9",
        "  480 ms ░░░░░░       1   480 ms      notified by a thread's end",
    ]


def test_futures_are_notifications_though_they_have_a_lock() -> None:
    make = Maker()
    make.define("Future.result", "/usr/lib/python3.12/concurrent/futures/_base.py", 428)
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 323)
    sleeping = "work:1 > Future.result:451 > Condition.wait:355 > _thread.lock.acquire"
    make.wait("f", "t", "a", 0, 400 * MS, sleeping, "finish:23")
    make.wait("f", "t", "a", 500 * MS, 510 * MS, "work:1 > Future.result:437", "finish:23")
    found = told(make)
    assert found[0] == (
        "Threads waited 410 ms in 2 waits: 10.0 ms for locks held by other threads and"
    )
    assert "Contention" not in found
    assert (
        "  410 ms ░░░░░░       2   400 ms  futures"
        in found[found.index("Waits for notifications") :]
    )


def test_small_rows_are_folded_and_told() -> None:
    make = Maker()
    at = 0
    for i in range(9):
        ns = 100 * MS if i < 7 else 1 * MS
        make.wait("l", "t", "a", at, at + ns, "get:1 > _thread.lock.acquire", f"hold{i}:1")
        at += ns + 1
    found = told(make, by=("owner_function",))
    assert found[-1] == "  202 ms                          … 4 more"
    result = locks(make.recording(), by=("owner_function",))
    everything = printed(lambda out: locks_report.render(result, out, top=20))
    assert not any("more" in line for line in everything)


def test_owners_that_waited_themselves() -> None:
    found = told(nested())
    at = found.index("Holders that were waiting too")
    assert found[at + 1 :] == [
        " 61.0 ms  38 %  outer in app.py:1, held by inner",
        "                  which waited for inner in app.py:2, held by busy",
    ]


def test_nothing() -> None:
    nothing = ["No thread waited for a lock, for the GIL or for another thread."]
    assert told(Maker()) == nothing
    table = lock_table(Maker().recording())
    assert printed(lambda out: lock_table_report.render(table, out)) == nothing
    none = waits(Maker().recording())
    assert printed(lambda out: waits_report.render(none, out)) == [
        "At 0 s (no waits) no thread waits for a lock, the GIL or another thread."
    ]


def test_lock_table() -> None:
    result = lock_table(products().recording())
    assert printed(lambda out: lock_table_report.render(result, out)) == [
        "  waited    waits     mean  longest     held  threads  queue  worst  kind",
        " 95.0 ms        4  23.8 ms  50.0 ms  30.0 ms      3/2   0.10   0.10  lock",
        "    query_by_number in app.py:12 and 1 more place, 84 % held by query_by_name",
        " 4.00 ms        1  4.00 ms  4.00 ms  4.00 ms      1/1   0.00   0.00  gil",
        "    GIL, 100 % held by f",
        "",
        "held: mean hold time while others waited. threads: waiters/holders.",
        "queue: mean number of waiting threads; worst: in the worst second.",
    ]


def test_a_deadlock() -> None:
    result = waits(deadlocked().recording())
    assert printed(lambda out: waits_report.render(result, out)) == [
        "At 1 s (the end, with threads still waiting for locks) 3 threads waited, 3 of",
        "them for locks held by other threads; 1 deadlock.",
        "",
        "Deadlock",
        "  one has waited 900 ms for ab (app.py:6), which two holds",
        "      ab (app.py:6)",
        "  two has waited 899 ms for ba (app.py:10), which one holds",
        "      ba (app.py:10)",
        "  These threads will never continue.",
        "",
        "Who waits for whom",
        "  one, in the deadlock",
        "    bystander has waited 850 ms for lock ba (app.py:10)",
        "        in idle (app.py:13)",
    ]


def test_a_thread_that_waits_for_what_it_holds_itself() -> None:
    make = Maker()
    make.enter("l", "t", 100 * MS, "inner:3 > _thread.lock.__enter__")
    make.held("l", "t", 900 * MS, "inner:3")
    result = waits(make.recording())
    text = printed(lambda out: waits_report.render(result, out))
    assert text[-4:] == [
        "Deadlock",
        "  t has waited 900 ms for inner (app.py:3), which it holds itself",
        "      inner (app.py:3)",
        "  This thread will never continue.",
    ]


def test_a_chain_of_waiters() -> None:
    result = waits(nested().recording(), at_ns=150 * MS)
    assert printed(lambda out: waits_report.render(result, out)) == [
        "At 0.15 s 2 threads waited, 2 of them for locks held by other threads.",
        "",
        "Who waits for whom",
        "  holder has waited 30.0 ms for lock inner (app.py:2)",
        "      in inner (app.py:2)",
        "      held by root in busy (app.py:3)",
        "    t has waited 50.0 ms for lock outer (app.py:1)",
        "        in outer (app.py:1)",
    ]


def test_a_crowd_is_cut_and_counted() -> None:
    make = Maker()
    for i in range(30):
        make.enter("l", f"t{i}", 100 * MS, "get:1 > _thread.lock.acquire")
    make.release("l", "a", 200 * MS)
    for i in range(30):
        make.entered("l", f"t{i}", 200 * MS)
    result = waits(make.recording(), at_ns=150 * MS)
    text = printed(lambda out: waits_report.render(result, out))
    assert text[-1] == "  … 10 more threads"
    assert sum("has waited" in line for line in text) == 20


def test_a_live_picture_is_told_in_the_present() -> None:
    result = graph_of(waits(nested().recording(), at_ns=150 * MS).waits)
    first = printed(lambda out: waits_report.render(result, out))[0]
    assert first == "Now 2 threads wait, 2 of them for locks held by other threads."


def frame(name: str, file: str = "/app/app.py", line: int = 1) -> dict[str, Any]:
    return {"name": name, "file": file, "line": line}


def test_a_chain_on_one_line() -> None:
    chain = [
        frame("Thread._bootstrap", "/usr/lib/python3.12/threading.py"),
        frame("Thread._bootstrap_inner", "/usr/lib/python3.12/threading.py"),
        frame("Thread.run", "/usr/lib/python3.12/threading.py"),
        frame("serve", line=7),
        frame("query", line=41),
        frame("Condition.__enter__", "/usr/lib/python3.12/threading.py"),
        frame("_thread.lock.__enter__", "<built-in>", 0),
    ]
    assert [f["name"] for f in program(chain)] == ["query", "serve", "Thread.run"]
    assert on_one_line(chain, 80) == "query (app.py:41) < serve < Thread.run"
    assert on_one_line(chain, 30) == "query (app.py:41) < serve < …"
    assert on_one_line(chain, 22) == "query (app.py:41) < …"
    assert on_one_line(chain, 17) == "query (app.py:41)"
    assert len(on_one_line(chain, 10)) <= 10


def test_names_from_strangers_cannot_act_on_the_terminal() -> None:
    make = Maker()
    make.wait("l", "t\x1b[2J", "a", 0, MS, "evil\x1b]0;x:1 > _thread.lock.acquire", "h\x07:1")
    recording = make.recording()
    result = locks(recording, by=("waiter_thread", "lock", "owner_chain"))
    table, graph = lock_table(recording), waits(recording, at_ns=5)
    for text in (
        printed(lambda out: locks_report.render(result, out)),
        printed(lambda out: lock_table_report.render(table, out)),
        printed(lambda out: waits_report.render(graph, out)),
    ):
        assert all(line.isprintable() for line in text)


def test_nothing_is_wider_than_the_page() -> None:
    make = Maker()
    long = "a_function_with_quite_a_long_name_" * 4
    make.wait("l", "t" * 100, "b" * 100, 0, MS, f"{long}:1 > _thread.lock.acquire", f"{long}:2")
    recording = make.recording()
    result, table, graph = locks(recording), lock_table(recording), waits(recording, at_ns=5)
    for text in (
        printed(lambda out: locks_report.render(result, out)),
        printed(lambda out: lock_table_report.render(table, out)),
        printed(lambda out: waits_report.render(graph, out)),
    ):
        assert max(map(len, text)) <= 80
