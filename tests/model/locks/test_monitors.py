"""Monitors and parked threads: what is known of them is not what is known of semaphores."""

from __future__ import annotations

from model.locks.story import UNKNOWN, A, B, Story, T, parts


def test_who_got_it_from_somebody_who_did_not_tell() -> None:
    """A lets go unseen, B gets it and lets go unseen: B is known to have had it meanwhile."""
    story = Story("monitor")
    story.enter(T, 100)
    story.enter(B, 110, context=11)
    story.entered(B, 200)
    story.entered(T, 300)
    found = story.found()
    of_b, of_t = (found.thread.tolist().index(who) for who in (B, T))
    assert parts(found, of_b) == [(UNKNOWN, UNKNOWN, 90)]
    assert parts(found, of_t) == [(UNKNOWN, UNKNOWN, 100), (B, 11, 100)]


def test_a_release_that_was_told_is_believed() -> None:
    story = Story("monitor")
    story.enter(T, 100)
    story.exit(A, 180, context=21)
    story.entered(T, 190)
    assert parts(story.found()) == [(A, 21, 80), (A, 21, 10)]


def test_a_monitor_in_a_chain_of_signals_has_an_owner() -> None:
    """Thread.join is synchronized: a wait for that monitor is no wait for the thread's end."""
    story = Story("monitor", whole=frozenset({10}))
    story.enter(T, 100, context=10)
    story.exit(A, 150, context=21)
    story.exit(B, 180, context=22)
    story.entered(T, 190)
    assert parts(story.found()) == [(A, 21, 50), (B, 22, 30), (B, 22, 10)]


def test_the_time_until_a_woken_thread_parks_again_is_waiting() -> None:
    """T is woken by A, is overtaken by B, and learns of it only when it runs."""
    story = Story("park")
    story.enter(T, 100, context=10)
    story.enter(3, 120, context=12)
    story.exit(A, 200, context=21)
    story.entered(T, 210)
    story.exit(B, 230, context=22)
    story.enter(T, 240, context=10)
    story.exit(B, 300, context=22)
    story.entered(T, 310)
    found = story.found()
    mine = [i for i in range(len(found)) if found.thread[i] == T]
    assert [(int(found.start[i]), int(found.end[i])) for i in mine] == [(100, 210), (210, 310)]
    assert len({int(found.wait[i]) for i in mine}) == 1
    assert parts(found, mine[1]) == [(B, 22, 20), (B, 22, 70), (B, 22, 10)]
