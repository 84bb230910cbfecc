"""Of the time a thread really waited nearly all is recorded, and charged to who really held it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environment
from launching import Interpreter

from sonde.recording.reader import read
from sonde.views.locks.wait_graph import waits
from truth.locks.books import CHARGED, RECORDED
from truth.locks.conftest import Get, run_program

KINDS = (
    "lock", "rlock", "semaphore", "native", "io", "import", "condition", "event", "barrier",
    "queue", "simple_queue", "join", "future",
)  # fmt: skip
OWNERS = (
    "queued", "alternating", "barging", "throwing", "abandoned", "patient", "timeout",
)  # fmt: skip


@pytest.mark.parametrize("scenario", KINDS)
def test_each_kind(contended: Get, scenario: str) -> None:
    assert not contended("kinds").compare(scenario)


@pytest.mark.parametrize("scenario", OWNERS)
def test_owners_of_one_lock(contended: Get, scenario: str) -> None:
    assert not contended("owners").compare(scenario)


@pytest.mark.parametrize("scenario", ["burner", "two"])
def test_gil(contended: Get, scenario: str) -> None:
    assert not contended("gil").compare(scenario)


@pytest.mark.parametrize("scenario", ["inner", "outer", "entering"])
def test_gils_of_two_interpreters(python: Interpreter, contended: Get, scenario: str) -> None:
    if python.minor < 12:
        pytest.skip("3.11 has one GIL for all interpreters")
    assert not contended("interpreters").compare(scenario)


def test_each_interpreter_has_its_gil(python: Interpreter, contended: Get) -> None:
    if python.minor < 12:
        pytest.skip("3.11 has one GIL for all interpreters")
    recording = contended("interpreters").recording
    assert recording.locks.made_of.count("gil") == 2


@pytest.mark.parametrize("scenario", ["child_holds", "parent_holds"])
def test_a_lock_between_processes(contended: Get, scenario: str) -> None:
    assert not contended("processes").compare(scenario)


def test_a_lock_between_processes_is_one(contended: Get) -> None:
    recording = contended("processes").recording
    assert recording.locks.made_of.count("shared") == 1


def test_a_deadlock_has_both_chains(contended: Get) -> None:
    books = contended("deadlock")
    for waiter, owner in (("take_second", "take_first"), ("take_first", "take_second")):
        mine = [part for part in books.parts if waiter in part.waiter and part.kind == "lock"]
        assert sum(part.ns for part in mine) >= RECORDED * books.told["waited"][waiter]
        assert {part.owner[-1] for part in mine} <= {owner, "_thread.lock.__enter__"}
        assert all(owner in part.owner for part in mine), mine


def test_a_gil_that_is_never_let_go(contended: Get) -> None:
    """The wait has no end and its owner tells nothing: both are known all the same."""
    books = contended("stuck")
    mine = [part for part in books.parts if "want" in part.waiter and part.kind == "gil"]
    asked, until = books.told["asked"], books.told["until"]
    by_hog = sum(part.ns for part in mine if "hog" in part.owner)
    assert sum(part.ns for part in mine) >= RECORDED * (until - asked), mine
    assert by_hog >= CHARGED * (until - asked), mine


@pytest.mark.parametrize("program", ["kinds", "owners", "gil", "processes", "deadlock"])
def test_rows_add_up(contended: Get, program: str) -> None:
    books = contended(program)
    assert books.view["total_ns"] == sum(part.ns for part in books.parts) > 0
    assert books.view["undecided"] == 0
    assert books.recording.quality["events_lost"] == 0


# ---- sessions that come and go


@pytest.mark.parametrize(
    ("recording", "scenario"), [("late", "after"), ("forked", "child"), ("forked", "parent")]
)
def test_waits_within_a_session(sessions: Get, recording: str, scenario: str) -> None:
    assert not sessions(recording).compare(scenario)


def test_a_wait_older_than_the_session_counts_from_its_beginning(sessions: Get) -> None:
    books = sessions("late")
    moments = books.told["moments"]
    (_, _, end, _) = next(wait for wait in books.told["waits"] if wait[0] == "late")
    mine = [part for part in books.parts if "take_late" in part.waiter]
    assert sum(part.ns for part in mine) <= end - moments["start"]
    # Its end is the release: how long its thread took to run again after that, nobody told.
    charged = sum(part.ns for part in mine if "hold_long" in part.owner)
    assert charged >= CHARGED * (moments["held_until"] - moments["started"])


def test_a_deadlock_from_before_is_named(
    environment: Environment, keep: Callable[[str], Path]
) -> None:
    """Neither wait is seen to begin or to end, and nobody ever lets go."""
    path = keep("hung")
    run_program(environment, "hung.py", path)
    found = waits(read(path))
    assert len(found.deadlocks) == 1
    told = {w.thread: (w.owner_thread, [f.name for f, _ in w.chain]) for w in found.waits if w.open}
    assert told["hold_first"][0] == "hold_second"
    assert told["hold_second"][0] == "hold_first"
    assert {"hold_first", "take_second"} <= set(told["hold_first"][1])
    assert {"hold_second", "take_first"} <= set(told["hold_second"][1])


def test_a_wait_open_at_the_end_lasts_until_then(sessions: Get) -> None:
    books = sessions("stopped")
    moments = books.told["moments"]
    (_, start, _, _) = next(wait for wait in books.told["waits"] if wait[0] == "restarted")
    recorded = sum(part.ns for part in books.parts if "take_restarted" in part.waiter)
    assert RECORDED * (moments["re_stop"] - start) <= recorded <= moments["re_stopped"] - start


def test_a_wait_goes_on_in_the_next_session(sessions: Get) -> None:
    books = sessions("restarted")
    moments = books.told["moments"]
    (_, _, end, _) = next(wait for wait in books.told["waits"] if wait[0] == "restarted")
    mine = [p for p in books.parts if "take_restarted" in p.waiter and "hold_long" in p.owner]
    recorded = sum(part.ns for part in mine)
    assert CHARGED * (end - moments["re_started"]) <= recorded <= end - moments["re_start"]
