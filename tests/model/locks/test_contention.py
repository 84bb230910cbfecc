"""Every way a wait can go, event by event, with the one right answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model.locks.story import NEVER, A, B, C, Story, T, parts
from sonde.model.locks.contention import CUT, OPEN, UNKNOWN, Contentions
from sonde.model.locks.contention_replay import AGAIN_NS
from sonde.model.trees.context_tree import sums
from sonde.row_values import ACQUIRED, GAVE_UP


def test_one_owner() -> None:
    story = Story()
    story.enter(T, 100, 10)
    story.exit(A, 150, 20)
    story.entered(T, 153)
    found = story.found()
    assert len(found) == 1
    assert (found.thread[0], found.context[0], found.start[0], found.end[0]) == (T, 10, 100, 153)
    assert found.outcome[0] == ACQUIRED
    assert not found.open[0]
    # The hand-over of 3 ns is the releaser's, too.
    assert parts(found) == [(A, 20, 50), (A, 20, 3)]


def test_two_owners_alternate() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.exit(B, 130, 21)
    story.exit(A, 160, 20)
    story.exit(B, 200, 21)
    story.entered(T, 201)
    assert parts(story.found()) == [(A, 20, 10), (B, 21, 20), (A, 20, 30), (B, 21, 40), (B, 21, 1)]


def test_barging_by_the_same_owner_in_different_chains() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.exit(A, 180, 25)
    story.entered(T, 180)
    assert parts(story.found()) == [(A, 20, 10), (A, 25, 70)]


def test_two_waiters_queue_behind_each_other() -> None:
    story = Story()
    story.enter(T, 100)
    story.enter(B, 120)
    story.exit(A, 150, 20)
    story.entered(T, 151)
    story.exit(T, 170, 21)
    story.entered(B, 172)
    found = story.found()
    assert parts(found, 0) == [(A, 20, 50), (A, 20, 1)]
    assert parts(found, 1) == [(A, 20, 30), (T, 21, 20), (T, 21, 2)]


def test_giving_up_names_no_owner() -> None:
    story = Story()
    story.enter(T, 100)
    story.gave_up(T, 130)
    found = story.found()
    assert found.outcome[0] == GAVE_UP
    assert parts(found) == [(UNKNOWN, UNKNOWN, 30)]


def test_giving_up_after_a_release() -> None:
    """Who took the lock after A is not told by anybody."""
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.gave_up(T, 130)
    assert parts(story.found()) == [(A, 20, 10), (UNKNOWN, UNKNOWN, 20)]


def test_giving_up_while_another_waiter_has_it() -> None:
    """B got it, and had B let go, T's waiting would have made B tell."""
    story = Story()
    story.enter(T, 100)
    story.enter(B, 101, 11)
    story.exit(A, 110, 20)
    story.entered(B, 112)
    story.gave_up(T, 130)
    found = story.found()
    assert parts(found, 1) == [(A, 20, 10), (B, 11, 20)]


def test_open_at_the_end() -> None:
    story = Story()
    story.enter(T, 100)
    found = story.found()
    assert found.open[0]
    assert found.outcome[0] == OPEN
    assert parts(found) == [(UNKNOWN, UNKNOWN, NEVER - 100)]


def test_open_at_the_end_with_a_holder_seen() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 200, 20)
    story.held(B, 500, 30)
    assert parts(story.found()) == [(A, 20, 100), (B, 30, NEVER - 200)]


def test_a_wait_from_before_ends_with_the_release() -> None:
    story = Story()
    story.waits_already(T)
    story.held(B, 50, 30)
    story.exit(B, 600, 31)
    story.exit(A, 900, 20)
    found = story.found()
    assert (found.start[0], found.end[0], found.before[0]) == (0, 600, True)
    assert parts(found) == [(B, 31, 600)]


def test_waits_from_before_end_one_by_one() -> None:
    story = Story()
    story.waits_already(T)
    story.waits_already(C)
    story.exit(A, 100, 20)
    story.exit(B, 300, 21)
    found = story.found()
    assert found.thread.tolist() == [T, C]
    assert parts(found, 0) == [(A, 20, 100)]
    assert parts(found, 1) == [(A, 20, 100), (B, 21, 200)]


def test_a_wait_from_before_that_never_ends() -> None:
    story = Story()
    story.waits_already(T)
    story.held(B, 50, 30)
    found = story.found()
    assert (found.outcome[0], found.before[0]) == (OPEN, True)
    assert parts(found) == [(B, 30, NEVER)]


def test_a_wait_from_before_whose_thread_runs_again() -> None:
    """Nobody let go: it gave up, some time before it was seen to run."""
    story = Story()
    story.waits_already(T)
    story.held(B, 50, 30)
    story.awake[T] = 700
    found = story.found()
    assert found.outcome[0] == CUT
    assert found.end[0] == 50


def test_a_wait_from_before_that_tells_its_end() -> None:
    story = Story()
    story.enter(T, 0)
    story.exit(A, 150, 20)
    story.entered(T, 153)
    found = story.found()
    assert len(found) == 1
    assert found.before[0]
    assert parts(found) == [(A, 20, 150), (A, 20, 3)]


def test_a_holder_seen_gives_way_to_the_release() -> None:
    story = Story()
    story.enter(T, 100)
    story.held(B, 500, 30)
    story.exit(B, 600, 31)
    story.entered(T, 601)
    assert parts(story.found()) == [(B, 31, 500), (B, 31, 1)]


def test_a_holder_that_let_go_while_it_was_looked_for() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(B, 600, 31)
    story.held(B, 601, 30)
    assert parts(story.found())[-1] == (UNKNOWN, UNKNOWN, NEVER - 600)


def test_a_thread_that_waits_for_what_it_holds_itself() -> None:
    story = Story()
    story.enter(B, 110)
    story.held(B, 500, 30)
    assert parts(story.found()) == [(B, 30, NEVER - 110)]


def test_open_at_the_end_behind_a_thread_that_got_it() -> None:
    story = Story()
    story.enter(T, 100)
    story.enter(B, 105, 12)
    story.exit(A, 110, 20)
    story.entered(B, 111)
    found = story.found()
    row = int(np.flatnonzero(found.thread == T)[0])
    assert parts(found, row) == [(A, 20, 10), (B, 12, NEVER - 110)]


ALL = frozenset({T, A, B, C})


def test_who_is_woken_unseen_had_it_from_the_last_known_owner() -> None:
    """Virtual threads: each is let in by who got in before, the first by who was found there."""
    story = Story("park", woken_unseen=ALL)
    story.enter(T, 100, 10)
    story.held(A, 101, 30)
    story.enter(B, 110, 12)
    story.entered(B, 150)
    story.entered(T, 190)
    found = story.found()
    row = int(np.flatnonzero(found.thread == T)[0])
    assert parts(found, row) == [(A, 30, 50), (B, 12, 40)]
    assert parts(found, 1 - row) == [(A, 30, 40)]


def test_who_takes_it_again_before_the_one_that_was_woken() -> None:
    story = Story("park", woken_unseen=ALL)
    story.enter(T, 100, 10)
    story.held(A, 101, 30)
    story.entered(T, 150)
    story.enter(T, 151, 10)
    story.held(A, 152, 31)
    story.entered(T, 190)
    found = story.found()
    assert parts(found, 0) == [(A, 30, 50)]
    assert parts(found, 1) == [(A, 31, 40)]


def test_who_has_it_again_in_another_chain() -> None:
    story = Story("park", woken_unseen=ALL)
    story.enter(T, 100, 10)
    story.held(A, 101, 30)
    story.enter(B, 140, 12)
    story.held(A, 141, 31)
    story.entered(T, 200)
    assert parts(story.found()) == [(A, 30, 41), (A, 31, 59)]


def test_who_is_woken_unseen_by_a_signal_has_it_from_nobody_known() -> None:
    story = Story("park", woken_unseen=ALL, whole=frozenset({10}))
    story.enter(T, 100, 10)
    story.enter(B, 100, 10)
    story.entered(B, 150)
    story.entered(T, 190)
    found = story.found()
    assert parts(found, 0) == [(UNKNOWN, UNKNOWN, 50)]
    assert parts(found, 1) == [(UNKNOWN, UNKNOWN, 90)]


def test_who_tells_is_believed_more_than_who_was_found() -> None:
    story = Story("park", woken_unseen=ALL)
    story.enter(T, 100, 10)
    story.held(A, 101, 30)
    story.exit(C, 150, 20)
    story.entered(T, 160)
    assert parts(story.found()) == [(C, 20, 50), (C, 20, 10)]


def test_nobody_owns_what_he_waits_for() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(T, 120, 20)
    story.exit(A, 150, 21)
    story.entered(T, 151)
    assert parts(story.found()) == [(UNKNOWN, UNKNOWN, 20), (A, 21, 30), (A, 21, 1)]


def test_a_release_that_comes_before_the_waiter_could_say_so() -> None:
    """The number of the release is lower, but its time lies within the wait."""
    story = Story()
    story.exit(A, 118, 20)
    story.enter(T, 100)
    story.entered(T, 123)
    assert parts(story.found()) == [(A, 20, 18), (A, 20, 5)]


def test_a_release_before_the_wait_is_not_to_blame() -> None:
    story = Story()
    story.exit(A, 99, 20)
    story.enter(T, 100)
    story.entered(T, 123)
    assert parts(story.found()) == [(UNKNOWN, UNKNOWN, 23)]


def test_who_gives_the_signal_is_to_blame_for_all_of_the_wait() -> None:
    """Two sleep on one queue: the first release woke the other."""
    story = Story("parked", whole=frozenset({10}))
    story.enter(T, 100, 10)
    story.enter(B, 110, 10)
    story.exit(A, 150, 20)
    story.entered(B, 151)
    story.exit(C, 190, 21)
    story.entered(T, 192)
    found = story.found()
    assert parts(found, 0) == [(A, 20, 41)]
    assert parts(found, 1) == [(C, 21, 92)]


def test_a_signal_that_never_came_has_no_giver() -> None:
    story = Story(whole=frozenset({10}))
    story.enter(T, 100, 10)
    story.exit(A, 150, 20)
    story.gave_up(T, 192)
    story.enter(B, 200, 10)
    story.held(C, 500)
    found = story.found()
    assert parts(found, 0) == [(UNKNOWN, UNKNOWN, 92)]
    assert parts(found, 1) == [(UNKNOWN, UNKNOWN, NEVER - 200)]


def test_the_gil_is_held_whatever_the_chain_says() -> None:
    story = Story("gil", whole=frozenset({10}))
    story.enter(T, 100, 10)
    story.exit(A, 150, 20)
    story.exit(B, 170, 21)
    story.entered(T, 171)
    assert parts(story.found()) == [(A, 20, 50), (B, 21, 20), (B, 21, 1)]


def again(gap: int, *, others: bool, let_go: bool = False, context: int = 10) -> Contentions:
    """T is woken, finds the lock taken again and lies down again after `gap`."""
    story = Story("parked")
    if others:
        story.enter(C, 50, 11)
    story.enter(T, 100)
    story.exit(A, 150, 20)
    story.entered(T, 151)
    if let_go:
        story.exit(T, 151 + gap, 22)
    story.enter(T, 151 + gap, context)
    story.exit(B, 300 + gap, 21)
    story.entered(T, 301 + gap)
    return story.found()


@pytest.mark.parametrize(
    ("gap", "options", "waits"),
    [
        (5, {"others": False}, 1),
        (AGAIN_NS + 1, {"others": False}, 2),
        # Somebody waited all the time and saw nothing of T: it did not have the lock.
        (AGAIN_NS + 1, {"others": True}, 1),
        (5, {"others": True, "let_go": True}, 2),
        (5, {"others": False, "context": 12}, 2),
    ],
)
def test_lying_down_again_is_the_same_wait(gap: int, options: dict[str, Any], waits: int) -> None:
    found = again(gap, **options)
    mine = found.thread == T
    assert len(np.unique(found.wait[mine])) == waits
    assert found.length[mine].tolist() == [51, 150]


def test_a_sleeper_that_sleeps_again_waits_again() -> None:
    story = Story("parked", whole=frozenset({10}))
    story.enter(C, 50, 10)
    for start in (100, 110):
        story.enter(T, start, 10)
        story.exit(A, start + 5)
        story.entered(T, start + 6)
    found = story.found()
    assert len(np.unique(found.wait[found.thread == T])) == 2


def test_holds_count_from_when_somebody_waited() -> None:
    story = Story()
    story.enter(T, 100)
    story.enter(B, 120)
    story.exit(A, 150)
    story.entered(T, 151)
    story.exit(T, 180)
    story.entered(B, 181)
    story.enter(T, 500)
    story.exit(A, 530)
    story.entered(T, 531)
    holds = story.found().holds
    assert (holds.until - holds.since).tolist() == [50, 30, 30]


def test_a_range_of_time_cuts_waits_and_their_blames() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 150, 20)
    story.exit(B, 200, 21)
    story.entered(T, 210)
    found = story.found().within(120, 180)
    assert parts(found) == [(A, 20, 30), (B, 21, 30)]


def test_sums_are_exact_beyond_what_doubles_hold() -> None:
    ns = np.array([2**53 + 1, 1, 1, 5, 2**40 + 3], dtype=np.int64)
    assert sums(np.array([0, 0, 0, 2, 2]), ns, 4).tolist() == [2**53 + 3, 0, 2**40 + 8, 0]
