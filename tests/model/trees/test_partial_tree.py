"""The partial tree, with stacks made by hand: exact, whatever the machine does."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter

import pytest

from sonde.model.trees.partial_tree import LEFT_OUT, MAX_WALK, PartialTree, TreePosition
from sonde.model.trees.ranked import Ranked

SAMPLES = 2000

Stack = list[tuple[str, int]]
"""Functions and the lines they stand at, outermost first."""


class Fed:
    """A tree that is told whole stacks, as its feeder would."""

    def __init__(self, memory: int = 256 << 10) -> None:
        self.tree = PartialTree(memory)
        self.thread = TreePosition()
        self.last: Stack = []

    def sample(self, stack: Stack, same: int, ns: int = 1) -> None:
        unchanged = 0
        while unchanged < min(len(stack), len(self.last)) and (
            stack[unchanged] == self.last[unchanged]
        ):
            unchanged += 1
        tree = self.tree
        tree.make_room(len(stack) - tree.known(self.thread, unchanged))
        known = tree.known(self.thread, unchanged)
        frames = [
            (stack[at - 1][1] if at else 0, tree.function(stack[at][0], "file.py", 1, "cpython"))
            for at in range(known, len(stack))
        ]
        tree.sample(self.thread, known, frames, range(same, len(stack)), ns)
        self.last = list(stack)

    def hot(self) -> dict[str, tuple[int, int, int]]:
        return {
            "/".join(frame.function.name for frame in row.chain): (
                row.own_ns,
                row.total_ns,
                row.activations,
            )
            for row in self.tree.hot(100)
        }


def stack(*names: str, line: int = 1) -> Stack:
    return [(name, line) for name in names]


def test_one_that_takes_long_and_one_that_is_called_often_are_told_apart() -> None:
    long, often = Fed(), Fed()
    for n in range(10):
        long.sample(stack("main", "work"), same=2 if n else 0)
        often.sample(stack("main", "work"), same=1 if n else 0)
    assert long.hot() == {"main/work": (10, 10, 1)}
    assert often.hot() == {"main/work": (10, 10, 10)}
    assert long.tree.hot()[0].ns_per_activation == 10
    assert often.tree.hot()[0].ns_per_activation == 1


def test_a_function_has_a_node_for_each_context_and_call_site() -> None:
    fed = Fed()
    fed.sample([("main", 1), ("a", 5), ("leaf", 9)], same=0)
    fed.sample([("main", 1), ("a", 6), ("leaf", 9)], same=2)
    fed.sample([("main", 2), ("b", 5), ("leaf", 9)], same=1)
    fed.sample([("main", 2), ("b", 5), ("leaf", 10)], same=3)  # it has moved on
    assert len(fed.tree) == 6
    edges = {
        (edge.caller.name, edge.line, edge.callee.name): (edge.activations, edge.own_ns)
        for edge in fed.tree.hot_edges()
    }
    assert edges == {
        ("main", 1, "a"): (1, 0),
        ("a", 5, "leaf"): (1, 1),
        ("a", 6, "leaf"): (1, 1),
        ("main", 2, "b"): (1, 0),
        ("b", 5, "leaf"): (1, 2),
    }
    (leaf,) = fed.tree.hot_functions()
    assert (leaf.function.name, leaf.own_ns, leaf.activations, leaf.share) == ("leaf", 4, 3, 1.0)


def test_recursion_keeps_its_contexts_and_counts_once() -> None:
    fed = Fed()
    fed.sample(stack("main", "f", "f", "f"), same=0, ns=5)
    fed.sample(stack("main", "f"), same=2, ns=2)
    assert fed.hot() == {"main/f/f/f": (5, 5, 1), "main/f": (2, 7, 1)}
    (row,) = fed.tree.hot_functions()
    assert (row.own_ns, row.total_ns, row.activations) == (7, 7, 3)


def test_a_deep_new_stack_keeps_its_innermost_frames_below_where_it_came_from() -> None:
    fed = Fed()
    fed.sample(stack("main"), same=0)
    deep = [("main", 1), *((f"f{n}", 1) for n in range(MAX_WALK + 50))]
    fed.sample(deep, same=1, ns=7)
    fed.sample(deep, same=len(deep), ns=7)
    assert len(fed.tree) == 1 + 1 + MAX_WALK
    hottest = fed.tree.hot(1)[0]
    names = [frame.function.name for frame in hottest.chain]
    assert names[:3] == ["main", LEFT_OUT, "f50"]
    assert names[-1] == deep[-1][0]
    assert (hottest.own_ns, hottest.activations) == (14, 1)
    # Back to where frames were left out: the next one stands there.
    fed.sample([*deep[:20], ("other", 1)], same=20, ns=3)
    chain = next(row.chain for row in fed.tree.hot(3) if row.function.name == "other")
    assert [frame.function.name for frame in chain] == ["main", LEFT_OUT, "other"]


def test_lists_are_in_order_at_any_time() -> None:
    fed, random_ = Fed(), random.Random(3)
    for _ in range(3000):
        name = f"f{min(int(random_.expovariate(0.02)), 199)}"
        fed.sample(stack("main", name), same=1 if fed.last else 0, ns=random_.randrange(1, 50))
    weights = [row.own_ns for row in fed.tree.hot(60)]
    assert weights == sorted(weights, reverse=True)
    everything = sorted((row.own_ns for row in fed.tree.hot(1000)), reverse=True)
    assert weights == everything[:60]
    assert sum(everything) == fed.tree.total_ns


def test_ranked_keeps_the_largest() -> None:
    from array import array

    values = array("Q", [0] * 50)
    ranked, random_ = Ranked(values, 8), random.Random(1)
    for _ in range(2000):
        place = random_.randrange(50)
        values[place] += random_.randrange(1, 5)
        ranked.grew(place)
        wanted = sorted(values, reverse=True)[:8]
        assert [values[at] for at in ranked.first(8)] == [n for n in wanted if n]


@pytest.mark.parametrize("memory", [48 << 10, 256 << 10])
def test_memory_stays_below_the_bound_and_totals_stay_right(memory: int) -> None:
    """Really measured: what Python itself allocates for the tree, names included."""
    random_ = random.Random(memory)
    # A few hot paths among ever new ones, as of a program that makes functions without end.
    hot = [stack(*(f"hot_{n}_{d}" for d in range(6))) for n in range(10)]
    spent: Counter[str] = Counter()
    tracemalloc.start()
    try:
        fed = Fed(memory)
        worst = 0
        for n in range(SAMPLES):
            if random_.random() < 0.5:
                path = hot[random_.randrange(10)]
                spent[path[-1][0]] += 1000
            else:
                path = stack("main", *(f"cold_{random_.randrange(50_000)}" for _ in range(4)))
            fed.sample(path, same=0, ns=1000)
            if not n % 50:
                fed.last = []
                known, traced = fed.tree.memory(), tracemalloc.get_traced_memory()[0]
                worst = max(worst, known, traced - 20_000)  # the test's own
        assert worst <= memory
    finally:
        tracemalloc.stop()
    tree = fed.tree
    assert tree.purges > 0
    assert tree.dropped > 0
    assert tree.total_ns == SAMPLES * 1000
    totals = tree._totals()
    assert totals[0] == tree.total_ns
    # The hot ones stay, but for what they had when they were no warmer than the others.
    found = {row.function.name: row.own_ns for row in tree.hot(10)}
    assert found.keys() == spent.keys()
    assert all(0.9 * spent[name] <= own <= spent[name] for name, own in found.items())


def test_purging_starts_over_and_a_thread_goes_on_where_it_is() -> None:
    fed = Fed()
    fed.sample(stack("main", "work"), same=0, ns=5)
    fed.tree.purge()
    assert len(fed.tree) == 0
    assert fed.tree.total_ns == 0
    fed.sample(stack("main", "work"), same=2, ns=3)
    assert fed.hot() == {"main/work": (3, 3, 0)}  # the call began before


def test_time_without_a_stack_is_in_the_total_only() -> None:
    fed = Fed()
    fed.sample([], same=0, ns=4)
    fed.tree.unknown(fed.thread, 6)
    assert fed.tree.total_ns == 10
    assert fed.tree.unknown_ns == 6
    (row,) = fed.tree.hot()
    assert row.function.name == "[no Python frames]"
    assert row.own_ns == 4
