"""What is lost, comes late or out of order: named as unknown, never guessed."""

from __future__ import annotations

import numpy as np
import pytest

from model.locks.story import NEVER, RELEASED, WAIT_BEGIN, A, B, C, Story, T, parts
from sonde.model.locks.contention import CUT, UNKNOWN, blames
from sonde.model.locks.contention_replay import LOOSE, Replay
from sonde.row_values import ACQUIRED


def test_begun_before_the_recording() -> None:
    story = Story(first=8)
    story.exit(A, 50, 20)
    story.entered(T, 60)
    found = story.found()
    assert found.before[0]
    assert (found.start[0], found.end[0], found.context[0]) == (0, 60, UNKNOWN)
    assert parts(found) == [(A, 20, 50), (A, 20, 10)]


def test_a_lost_beginning_is_not_taken_for_one_before_the_recording() -> None:
    story = Story()
    story.lost()
    story.exit(A, 50)
    story.entered(T, 60)
    replay = Replay(story.made_of, story.processes, story.whole, np.array([1]))
    replay.feed(*story.columns())
    assert len(replay.finish([NEVER] * 4)) == 0
    assert replay.undecided == 1


def test_a_thread_that_did_something_before_was_not_waiting_then() -> None:
    story = Story(first=8)
    story.enter(T, 10, lock=1)
    story.entered(T, 20, lock=1)
    story.entered(T, 60)
    assert len(story.found()) == 1
    assert story.undecided == 1


def test_a_gap_leaves_the_part_it_falls_into_without_an_owner() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.lost()
    story.exit(B, 150, 21)
    story.exit(C, 170, 22)
    story.entered(T, 171)
    assert parts(story.found()) == [
        (A, 20, 10),
        (UNKNOWN, UNKNOWN, 40),
        (C, 22, 20),
        (C, 22, 1),
    ]


def test_a_gap_after_the_last_release() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.lost()
    story.entered(T, 171)
    assert parts(story.found()) == [(A, 20, 10), (UNKNOWN, UNKNOWN, 61)]


def test_a_gap_before_the_wait_does_no_harm() -> None:
    story = Story()
    story.enter(B, 90)
    story.lost()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    story.entered(T, 111)
    story.exit(T, 120, 21)
    story.entered(B, 121)
    found = story.found()
    assert parts(found, 0) == [(A, 20, 10), (A, 20, 1)]
    assert parts(found, 1) == [(UNKNOWN, UNKNOWN, 20), (T, 21, 10), (T, 21, 1)]


def test_a_lost_end_counts_as_far_as_it_is_sure() -> None:
    """T was still waiting when A let go; when it got the lock nobody knows."""
    story = Story()
    story.enter(T, 100)
    story.exit(A, 150, 20)
    story.lost()
    story.enter(T, 400)
    story.exit(B, 410, 21)
    story.entered(T, 411)
    found = story.found()
    assert found.outcome.tolist() == [CUT, ACQUIRED]
    assert found.length.tolist() == [50, 11]
    assert parts(found, 0) == [(A, 20, 50)]
    assert parts(found, 1) == [(B, 21, 10), (B, 21, 1)]


def test_a_thread_that_went_on_does_not_wait_for_ever() -> None:
    """Its ACQUIRED was lost, and no later number shows the hole."""
    story = Story()
    story.enter(T, 100)
    story.exit(A, 150, 20)
    story.enter(T, 300, lock=1)
    story.entered(T, 310, lock=1)
    found = story.found()
    row = int(np.flatnonzero(found.lock == 0)[0])
    assert found.outcome[row] == CUT
    assert found.end[row] == 150


def test_order_of_writing_does_not_matter() -> None:
    story = Story()
    for turn in range(50):
        start = turn * 100
        story.enter(T, start)
        story.enter(B, start + 1, 11)
        story.exit(A, start + 10, 20)
        story.entered(B, start + 11)
        story.exit(B, start + 30, 21)
        story.entered(T, start + 31)
    plain, mixed = story.found(), story.found(shuffled=True)
    assert [parts(plain, i) for i in range(100)] == [parts(mixed, i) for i in range(100)]
    assert len(plain) == 100


def test_blocks_of_any_size_give_the_same() -> None:
    story = Story()
    for turn in range(40):
        story.enter(T, turn * 100)
        story.exit(A, turn * 100 + 10, 20)
        story.entered(T, turn * 100 + 12)
    rows = list(story.rows)
    rows[3:90] = reversed(rows[3:90])
    for size in (1, 7, 1000):
        replay = Replay(story.made_of, story.processes, story.whole, np.array([1]))
        for at in range(0, len(rows), size):
            replay.feed(*story.columns(rows[at : at + size]))
        found = replay.finish([NEVER] * 4)
        assert found.length.tolist() == [12] * 40
        assert (found.tail_thread == A).all()


def test_what_is_kept_is_what_is_open() -> None:
    """However many events it has seen, it keeps those of open waits only."""
    story = Story()
    replay = Replay(["semaphore"], [0] * 4, story.whole, np.array([1]))
    number, waits, total = 1, 0, 0
    for _ in range(20):
        rows = []
        for _ in range(500):
            rows += [
                (T, number * 10, 0, number, WAIT_BEGIN, 10),
                (A, number * 10 + 5, 0, number + 1, RELEASED, 20),
                (T, number * 10 + 6, 0, number + 2, ACQUIRED, -1),
            ]
            number += 3
        replay.feed(*story.columns(rows))
        found = replay.take()
        waits += len(found)
        total += int(found.length.sum())
        assert (found.tail_thread == A).all()
        assert sum(len(state.until) for state in replay._locks.values()) <= 1
        assert not any(state.open or state.pending for state in replay._locks.values())
    assert (waits, total) == (10_000, 60_000)


def test_a_wait_taken_in_two_goes() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 110, 20)
    replay = story.replay()
    replay.feed(*story.columns())
    assert len(replay.take()) == 0
    story.rows.clear()
    story.exit(B, 150, 21)
    story.entered(T, 151)
    replay.feed(*story.columns())
    assert parts(replay.take()) == [(A, 20, 10), (B, 21, 40), (B, 21, 1)]


def test_numbers_shared_by_several_locks_have_gaps_that_mean_nothing() -> None:
    story = Story()
    for number, row in (
        (3, (WAIT_BEGIN, T, 100, 10)),
        (9, (RELEASED, A, 110, 20)),
        (17, (ACQUIRED, T, 112, -1)),
    ):
        story.rows.append((row[1], row[2], 0, LOOSE | number, row[0], row[3]))
    assert parts(story.found(shuffled=True)) == [(A, 20, 10), (A, 20, 2)]


def test_a_lock_between_processes_has_numbers_in_each_of_them() -> None:
    story = Story("shared", processes=(0, 1, 1, 1))
    story.rows = [
        (T, 100, 0, 1, WAIT_BEGIN, 10),
        (T, 152, 0, 2, ACQUIRED, -1),
        (A, 150, 0, 1, RELEASED, 20),
        (T, 200, 0, 3, WAIT_BEGIN, 10),
        (T, 252, 0, 4, ACQUIRED, -1),
        (A, 250, 0, 3, RELEASED, 20),  # number 2 of that process was lost
    ]
    found = story.found()
    assert parts(found, 0) == [(A, 20, 50), (A, 20, 2)]
    assert parts(found, 1) == [(UNKNOWN, UNKNOWN, 50), (A, 20, 2)]


def test_clocks_that_disagree_make_no_negative_time() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 150, 20)
    story.exit(B, 149, 21)
    story.entered(T, 148)
    found = story.found()
    assert parts(found) == [(A, 20, 48)]
    assert found.length[0] == 48


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_blames_add_up(seed: int) -> None:
    """Events in any disorder, some lost: the parts of every wait are its length."""
    random = np.random.default_rng(seed)
    story = Story(["semaphore", "parked", "gil", "shared"][seed % 4], whole=frozenset({10, 13}))
    for time in np.sort(random.integers(0, 5_000, 400)).tolist():
        story.tell(
            int(random.integers(1, 6)),
            int(random.integers(0, 4)),
            time,
            int(random.integers(-1, 20)),
            int(random.integers(0, 3)),
        )
    kept = random.random(len(story.rows)) > 0.1
    story.rows = [row for row, keep in zip(story.rows, kept, strict=True) if keep]
    found = story.found(shuffled=True)
    assert len(found) > 10
    for size in (1, 1 << 20):
        told = np.zeros(len(found), dtype=np.int64)
        for block in blames(found, block=size):
            assert (block.ns >= 0).all()
            got = found.outcome[block.contention] == ACQUIRED
            assert (block.thread != found.thread[block.contention])[got].all()
            np.add.at(told, block.contention, block.ns)
        assert (told == found.length).all()


def test_nothing_recorded() -> None:
    found = Story().found()
    assert len(found) == 0
    assert list(blames(found)) == []
