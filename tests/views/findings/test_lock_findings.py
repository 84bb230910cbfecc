"""Rules about locks: they speak above their thresholds and are silent below."""

from __future__ import annotations

from sonde.views.findings.findings import findings
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker
from views.locks.test_wait_graph import deadlocked
from views.test_quality import GOOD

TAKE, LEAVE = " > _thread.lock.__enter__", " > _thread.lock.__exit__"


def quiet(make: Maker | None = None) -> Maker:
    """Two hundred samples over ten functions: nothing else stands out."""
    make = make or Maker()
    make.quality = dict(GOOD)
    for i in range(10):
        for _ in range(20):
            make.sample(f"f{i}:1")
    return make


def found(make: Maker, selection: Selection | None = None) -> list[tuple[str, str]]:
    return [(f.title, f.detail) for f in findings(make.recording(), selection)]


def with_gil(*owners: tuple[str, int]) -> Maker:
    make = quiet()
    make.lock("gil", "gil")
    at = 0
    for owner, ms in owners:
        make.wait("gil", "main", owner, at * MS, (at + ms) * MS, "serve:3", f"{owner}:7")
        at += ms + 1
    return make


def test_a_gil_hog_and_its_victims() -> None:
    ((title, detail),) = found(with_gil(("burn", 60), ("other", 20)))
    assert title == "burn holds the GIL while others wait"
    assert detail == (
        "threads waited 80.0 ms for the GIL, 29 % of the time they could have run, 75 % of it "
        "while burn (app.py:1) held it (it released the GIL; fewer than 10 CPU samples); "
        "waiters: main (60.0 ms); longest wait 60.0 ms"
    )


def test_a_gil_that_all_are_to_blame_for() -> None:
    ((title, detail),) = found(with_gil(("a", 30), ("b", 30), ("c", 30)))
    assert title == "threads wait for the GIL"
    assert detail.endswith("no single function held it for most of that time")


def test_a_gil_that_is_in_nobody_s_way() -> None:
    assert found(with_gil(("burn", 20))) == []


def queueing(ms: int, waits: int = 1) -> Maker:
    make = quiet()
    for i in range(waits):
        at = 100 * i * MS
        make.wait("l", "w1", "w2", at, at + ms * MS, f"by_number:12{TAKE}", f"by_name:23{LEAVE}")
    return make


def test_threads_that_queue_for_a_lock() -> None:
    make = queueing(40, 3)
    make.wait("l", "w1", "w3", 900 * MS, 980 * MS, f"by_number:12{TAKE}", f"other:9{LEAVE}")
    ((title, detail),) = found(make)
    assert title == "contention for by_number (app.py:12)"
    assert detail == (
        "60 % of the wait time in by_number (app.py:1) is attributed to by_name (app.py:1), which "
        "held by_number (app.py:12); 4 waits took 200 ms, the longest 80.0 ms; for 100 % of that "
        "time the holders were off CPU or not sampled; record with --what +waits to see where"
    )
    (finding,) = findings(make.recording())
    assert finding.share == 0.5
    assert finding.view == "sonde report app.sonde locks --by lock,owner_chain,waiter_chain"


def test_a_lock_that_is_in_nobody_s_way() -> None:
    assert found(queueing(49)) == []
    # Of two seconds of running 50 ms are not worth a word.
    make = queueing(50)
    for i in range(10):
        make.sample(f"f{i}:1", 200 * MS)
    assert found(make) == []


def test_an_owner_that_waits_itself_passes_the_blame_on() -> None:
    make = quiet()
    make.enter("a", "t", 0, f"outer:1{TAKE}")
    make.enter("b", "holder", 10 * MS, f"inner:2{TAKE}")
    make.release("b", "root", 190 * MS, f"busy:3{LEAVE}")
    make.entered("b", "holder", 190 * MS)
    make.release("a", "holder", 200 * MS, f"inner:4{LEAVE}")
    make.entered("a", "t", 200 * MS)
    (_, detail), _ = found(make)
    assert detail.endswith(
        "for 90 % of that time inner was waiting for inner (app.py:2), held by busy (app.py:1)"
    )


def test_waiting_for_signals_is_no_contention() -> None:
    make = quiet()
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 2)
    chain = "work:1 > Condition.wait:4 > _thread.lock.acquire"
    make.wait("s", "t", "a", 0, 900 * MS, chain)
    assert found(make) == []


def test_a_deadlock_comes_first() -> None:
    first, *_ = findings(quiet(deadlocked()).recording())
    assert first.title == "deadlock of one and two"
    assert first.detail == (
        "one waits in ab (app.py:6) for ab (app.py:6), which two holds; "
        "two waits in ba (app.py:10) for ba (app.py:10), which one holds; "
        "1 more thread waits behind them"
    )
    assert first.share == 1.0
    assert first.view == "sonde report app.sonde waits"


def test_a_choice_of_threads_does_not_hide_a_deadlock() -> None:
    make = quiet(deadlocked())
    titles = [title for title, _ in found(make, Selection(thread="one"))]
    assert "deadlock of one and two" in titles


def test_a_deadlock_that_timed_out() -> None:
    make = quiet(deadlocked())
    for lock, thread in (("b", "one"), ("a", "two"), ("a", "bystander")):
        make.gave_up(lock, thread, 950 * MS)
    assert found(make)[0][0] == "deadlock of one and two until one timed out"


def test_equal_locks_of_two_processes_are_told_apart() -> None:
    make = queueing(100)
    child = make.process(200)
    make.thread("child", process=child)
    make.thread("its worker", process=child)
    make.lock("the child's", process=child)
    waits, holds = f"by_number:12{TAKE}", f"by_name:23{LEAVE}"
    make.wait("the child's", "its worker", "child", 0, 90 * MS, waits, holds)
    titles = [title for title, _ in found(make)]
    assert len(titles) == len(set(titles)) == 2
    assert sorted(title.rpartition(" of process ")[2] for title in titles) == ["100", "200"]


def test_an_import_lock_is_named_as_such() -> None:
    make = quiet()
    acquire = "load:12 > _imp.acquire_lock"
    make.wait("l", "w1", "w2", 0, 200 * MS, acquire, "load:12 > _imp.release_lock")
    ((title, detail),) = found(make)
    assert title == "contention for the import lock (app.py:12)"
    assert "which held the import lock (app.py:12)" in detail


def test_waits_for_a_future_are_no_contention_for_its_lock() -> None:
    make = quiet()
    make.define("Future.result", "/usr/lib/python3.12/concurrent/futures/_base.py", 428)
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 323)
    sleeping = "work:1 > Future.result:451 > Condition.wait:355 > _thread.lock.acquire"
    locking = "work:1 > Future.result:437 > Condition.__enter__:299 > _thread.RLock.__enter__"
    make.define("Condition.__enter__", "/usr/lib/python3.12/threading.py", 298)
    make.wait("l", "w1", "w2", 0, 400 * MS, sleeping, "finish:23")
    make.wait("l", "w1", "w2", 500 * MS, 510 * MS, locking, "finish:23")
    (future,) = locks(make.recording()).rows
    assert (future.value, future.signalling, future.signalling_ns) == ("future", False, 400 * MS)
    assert found(make) == []
    # The lock itself, held for long, is.
    make.wait("l", "w1", "w2", 600 * MS, 700 * MS, locking, "finish:23")
    ((title, detail),) = found(make)
    assert title.startswith("contention for ")
    assert "2 waits took 110 ms, the longest 100 ms" in detail
