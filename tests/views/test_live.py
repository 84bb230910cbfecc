"""The last seconds: other views' figures for one window, and the history beside them."""

from __future__ import annotations

from sonde.views.live import live
from sonde.views.locks.lock_table import lock_table
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.stacks.history import history
from sonde.views.threads import threads
from synthetic import MS, Maker

SECOND = 1000 * MS


def busy() -> Maker:
    made = Maker(duration_ns=101 * SECOND)
    for second in range(100):
        chain: str | None = "main:1 > early:5" if second < 50 else "main:1 > late:7 > len"
        made.sample(chain, 300 * MS, time=second * SECOND + 500 * MS)
        made.sample(
            None if second % 10 == 0 else "main:2", 100 * MS, time=second * SECOND + 700 * MS
        )
    made.wait("a", "waiter", "owner", 80 * SECOND, 96 * SECOND)
    made.lock("gil", "gil")
    made.wait("gil", "waiter", "owner", 97 * SECOND, 98 * SECOND)
    made.wait("gil", "other", "owner", 99 * SECOND, 100 * SECOND + 500 * MS)
    return made


def test_the_figures_are_those_of_the_views() -> None:
    recording = busy().recording()
    window = Selection("running", None, None, 90 * SECOND, 100 * SECOND)
    seen = live(recording, 90 * SECOND, 100 * SECOND)
    assert seen.flat == flat(recording, window)
    assert seen.threads == threads(recording, window)
    assert seen.locks == lock_table(recording, window)
    assert seen.cpu_ns == 10 * 400 * MS
    assert seen.wait_ns == {"lock": 6 * SECOND, "gil": 2 * SECOND}


def test_the_gil_and_who_had_it() -> None:
    seen = live(busy().recording(), 90 * SECOND, 100 * SECOND)
    assert (seen.gil.wait_ns, seen.gil.waits, seen.gil.waiting_now) == (2 * SECOND, 2, 1)
    assert seen.gil.held_ns == {"owner": 2 * SECOND}


def test_the_chain_most_waiting_is_blamed_on() -> None:
    seen = live(busy().recording(), 90 * SECOND, 100 * SECOND)
    (row,) = [row for row in seen.locks.rows if row.kind == "lock"]
    worst = seen.worst[row.lock]
    assert worst.wait_ns == 6 * SECOND
    assert worst.chain is not None
    assert [frame["name"] for frame in worst.chain] == ["hold"]


def test_the_parts_of_the_history_add_up_to_own_time() -> None:
    recording = busy().recording()
    window = Selection("running", None, None, 40 * SECOND, 100 * SECOND)
    told = history(recording, window, 12)
    own = {row.function: row.self_ns for row in flat(recording, window).rows if row.self_ns}
    assert {function: sum(parts) for function, parts in told.own_ns.items()} == own
    assert told.step_ns == 5 * SECOND
    by_name = {function.name: parts for function, parts in told.own_ns.items()}
    assert by_name["early"] == [1500 * MS, 1500 * MS] + [0] * 10
    assert by_name["len"] == [0, 0] + [1500 * MS] * 10
    assert sum(by_name["[undecodable]"]) == 6 * 100 * MS


def test_a_minute_of_history_beside_a_short_window() -> None:
    seen = live(busy().recording(), 98 * SECOND, 100 * SECOND)
    assert (seen.history.start_ns, seen.history.step_ns) == (40 * SECOND, 5 * SECOND)


def test_one_process_of_several() -> None:
    made = Maker()
    made.sample("main:1", thread="mine")
    made.process(200)
    made.thread("child", process=1)
    made.sample("inner:1", thread="child")
    seen = live(made.recording(), 0, 1000 * MS, process=200)
    assert [row.function.name for row in seen.flat.rows] == ["inner"]
    assert [row.name for row in seen.threads.rows] == ["child"]


def test_a_recording_that_has_hardly_begun() -> None:
    made = Maker(duration_ns=0)
    made.processes = []
    seen = live(made.recording(), 0, 0, process=100)
    assert (seen.cpu_ns, seen.wait_ns, seen.flat.rows, seen.gil.waits) == (0, {}, [], 0)
