"""Wait-for graphs, chains of owners, and pressure."""

from __future__ import annotations

import numpy as np
import pytest

from model.locks.story import A, B, C, Story, T
from sonde.model.locks.contention import UNKNOWN
from sonde.model.locks.pressure import Pressure
from sonde.model.locks.wait_chains import wait_chains
from sonde.model.locks.wait_graph import Edge, wait_graph

FIRST, SECOND, THIRD = 0, 1, 2


def test_a_chain_to_its_root() -> None:
    graph = wait_graph([Edge(1, 10, 2), Edge(2, 20, 3), Edge(3, 30, 9)])
    assert graph.chains == [[0, 1, 2]]
    assert graph.cycles == []


def test_many_wait_for_one() -> None:
    graph = wait_graph([Edge(1, 10, 9), Edge(2, 10, 9), Edge(3, 10, None)])
    assert graph.chains == [[0], [1], [2]]


def test_a_deadlock_and_a_bystander() -> None:
    graph = wait_graph([Edge(1, 10, 2), Edge(2, 20, 1), Edge(3, 10, 2)])
    assert graph.cycles == [[0, 1]]
    assert graph.chains == [[2, 1, 0]]


def test_two_deadlocks_of_several_threads() -> None:
    edges = [Edge(1, 10, 2), Edge(2, 20, 3), Edge(3, 30, 1), Edge(4, 40, 5), Edge(5, 50, 4)]
    assert wait_graph(edges).cycles == [[0, 1, 2], [3, 4]]


def test_a_thread_that_waits_for_itself() -> None:
    assert wait_graph([Edge(1, 10, 1)]).cycles == [[0]]


def test_a_lock_that_is_handed_over_is_no_deadlock() -> None:
    assert wait_graph([Edge(1, 10, 2), Edge(2, 10, 1)]).cycles == []


def test_a_chain_that_comes_from_a_deadlock_ends_there() -> None:
    edges = [Edge(9, 90, 8), Edge(8, 80, 1), Edge(1, 10, 2), Edge(2, 20, 1)]
    assert wait_graph(edges).chains == [[0, 1, 2, 3]]


def test_nobody_waits() -> None:
    graph = wait_graph([])
    assert (graph.chains, graph.cycles) == ([], [])


def chains(story: Story, only: int = FIRST) -> list[tuple[list[tuple[int, int]], int]]:
    found = story.found()
    label = np.arange(101)
    label[-1] = UNKNOWN
    begin = found.lock == only
    return [(chain.links, chain.ns) for chain in wait_chains(found, found.lock, label, begin)]


def nested() -> Story:
    """T waits for the first lock from 100 to 200; A has it, and itself waits for the second lock
    from 120 to 180, which B has."""
    story = Story()
    story.enter(T, 100, lock=FIRST)
    story.enter(A, 120, 11, lock=SECOND)
    story.exit(B, 180, 21, lock=SECOND)
    story.entered(A, 180, lock=SECOND)
    story.exit(A, 200, 20, lock=FIRST)
    story.entered(T, 200, lock=FIRST)
    return story


def test_the_blame_goes_on_to_the_root() -> None:
    assert chains(nested()) == [([(FIRST, 20), (SECOND, 21)], 60)]


def test_two_waiters_count_twice() -> None:
    more = Story()
    more.enter(T, 100, lock=FIRST)
    more.enter(C, 150, lock=FIRST)
    more.enter(A, 120, 11, lock=SECOND)
    more.exit(B, 180, 21, lock=SECOND)
    more.entered(A, 180, lock=SECOND)
    more.exit(A, 200, 20, lock=FIRST)
    more.entered(T, 200, lock=FIRST)
    # From 120 to 180 one waits, and from 150 on another one as well.
    assert chains(more) == [([(FIRST, 20), (SECOND, 21)], 90)]


def test_three_links() -> None:
    story = nested()
    story.enter(B, 130, 12, lock=THIRD)
    story.exit(C, 140, 22, lock=THIRD)
    story.entered(B, 140, lock=THIRD)
    assert chains(story) == [
        ([(FIRST, 20), (SECOND, 21)], 50),
        ([(FIRST, 20), (SECOND, 21), (THIRD, 22)], 10),
    ]


def test_a_root_that_is_not_known() -> None:
    story = Story()
    story.enter(T, 100, lock=FIRST)
    story.enter(A, 120, 11, lock=SECOND)
    story.rows.append((A, 180, SECOND, 2, 3, UNKNOWN))  # gave up
    story.exit(A, 200, 20, lock=FIRST)
    story.entered(T, 200, lock=FIRST)
    assert chains(story) == [([(FIRST, 20), (SECOND, UNKNOWN)], 60)]


def test_an_owner_that_waited_for_nobody_makes_no_chain() -> None:
    story = Story()
    story.enter(T, 100)
    story.exit(A, 200)
    story.entered(T, 200)
    assert chains(story) == []


def test_waiting_for_the_very_lock_makes_no_chain() -> None:
    """B waits for the lock until A hands it over; it does not wait for another."""
    story = Story()
    story.enter(B, 100, 11)
    story.enter(T, 110)
    story.exit(A, 150, 20)
    story.entered(B, 155)
    story.exit(B, 190, 21)
    story.entered(T, 190)
    assert chains(story) == []


def test_a_deadlock_does_not_go_on_for_ever() -> None:
    story = Story()
    story.enter(T, 100, lock=FIRST)
    story.enter(A, 100, lock=SECOND)
    story.exit(T, 190, 21, lock=SECOND)
    story.exit(A, 195, 20, lock=FIRST)
    story.entered(A, 199, lock=SECOND)
    story.entered(T, 200, lock=FIRST)
    for links, ns in chains(story):
        assert ns > 0
        assert len(links) <= 7


@pytest.mark.parametrize(
    ("key", "start", "end", "spent"),
    [
        (7, 0, 1000, 150),
        (7, 0, 100, 0),
        (7, 100, 150, 50),
        (7, 150, 160, 20),
        (7, 190, 500, 20),
        (9, 0, 1000, 5),
        (8, 0, 1000, 0),
        (99, 0, 1000, 0),
        (7, 160, 150, 0),
    ],
)
def test_pressure(key: int, start: int, end: int, spent: int) -> None:
    pressure = Pressure(np.array([7, 7, 9]), np.array([100, 150, 0]), np.array([200, 200, 5]))
    found = pressure.between(np.array([key]), np.array([start]), np.array([end]))
    assert found.tolist() == [spent]
