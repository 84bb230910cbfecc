"""The tree from pairs of a function and its caller: the paper's own examples."""

from __future__ import annotations

from sonde.model.trees.chaining import ROOT, Link, Rebuilt, Way, split

A, B, C, D, E, F = range(6)


def chains(tree: Rebuilt, ways: list[Way]) -> dict[str, float]:
    """Ways by the names of their functions, outermost first."""
    found = {}
    for context, share in ways:
        names, at = "", context
        while at != ROOT:
            at, function, _ = tree.contexts[at]
            names = "ABCDEF"[function] + names
        found[names] = round(share, 6)
    return found


def test_depth_tells_ways_apart() -> None:
    # Figure 6: E is called by D at 100 only below B, and by C at 75.
    nodes = [A, B, C, D, D, E, E]
    a, b, c, d_b, d_c, e_d, e_c = range(7)
    links = [
        Link(a, ROOT, 0),
        Link(b, a, 1),
        Link(c, a, 2),
        Link(d_b, b, 1),
        Link(d_c, c, 1),
        Link(e_d, d_b, 1),
        Link(e_c, c, 2),
    ]
    tree = Rebuilt(nodes, links, [0, 10, 10, 5, 5, 80, 10])
    assert chains(tree, tree.ways(links[5], 7)) == {"ABDE": 1}
    assert chains(tree, tree.ways(links[6], 7)) == {"ACE": 1}
    sure = tree.ambiguity(links, [0, 10, 10, 5, 5, 80, 10])
    assert (sure.nodes, sure.ambiguous_nodes, sure.functions) == (7, 0, 5)
    assert sure.one_level == sure.three_levels == sure.samples == 120


def test_what_depth_does_not_tell_is_spread_by_how_often_it_was_seen() -> None:
    # Figure 7 (A): B and F have frames of one size, so D lies at the same depth below either.
    nodes = [A, B, F, D, E]
    a, b, f, d, e = range(5)
    links = [Link(a, ROOT, 0), Link(b, a, 1), Link(f, a, 2), Link(d, b, 1), Link(d, f, 1),
             Link(e, d, 1)]  # fmt: skip
    seen = [0, 1, 1, 30, 10, 100]
    tree = Rebuilt(nodes, links, seen)
    assert chains(tree, tree.ways(links[5], 3)) == {"ABDE": 0.75, "AFDE": 0.25}
    # A sample of D itself names its caller.
    assert chains(tree, tree.ways(links[3], 3)) == {"ABD": 1}
    unsure = tree.ambiguity(links, seen)
    assert unsure.ambiguous_nodes == 1
    # Of D two callers are known; E's is known, but not that one's.
    assert unsure.one_level == 142 - 40
    assert unsure.three_levels == 2


def test_lines_of_one_caller_are_told_apart() -> None:
    links = [Link(0, ROOT, 0), Link(1, 0, 5), Link(1, 0, 9), Link(2, 1, 1)]
    tree = Rebuilt([A, B, C], links, [0, 3, 1, 8])
    ways = tree.ways(links[3], 2)
    assert {tree.contexts[way.context][2] for way in ways} == {2}
    assert sorted(way.share for way in ways) == [0.25, 0.75]
    assert tree.ambiguity(links, [0, 3, 1, 8]).ambiguous_nodes == 0


def test_a_circle_ends() -> None:
    # A generator that drives itself lies at the depth of its caller.
    links = [Link(0, ROOT, 0), Link(1, 0, 1), Link(1, 1, 2)]
    tree = Rebuilt([A, B], links, [0, 5, 5])
    assert sum(way.share for way in tree.ways(links[2], 3)) == 1


def test_a_caller_that_nobody_told_of_is_a_root() -> None:
    links = [Link(1, 0, 4)]
    tree = Rebuilt([A, B], links, [1])
    assert chains(tree, tree.ways(links[0], 1)) == {"AB": 1}


def test_a_stack_deeper_than_our_own() -> None:
    count = 20_000
    links = [Link(i, i - 1, 1) for i in range(count)]
    tree = Rebuilt([A] * count, links, [1] * count)
    assert len(tree.ways(links[-1], 1)) == 1
    assert len(tree.contexts) == count


def test_contexts_of_whole_stacks_are_the_same_contexts() -> None:
    whole = [(ROOT, A, 8), (0, B, 4)]
    links = [Link(0, ROOT, 0), Link(1, 0, 8)]
    tree = Rebuilt([A, B], links, [1, 1], whole, [1, 1])
    assert tree.ways(links[1], 4) == [Way(1, 1.0)]
    assert tree.ways(links[1], 5) == [Way(2, 1.0)]  # the first that is not there yet
    assert tree.contexts == [(0, B, 5)]


def test_whole_stacks_tell_how_often_a_caller_far_away_was_there() -> None:
    # D is never on top of the stack: both ways to it were told once.
    nodes = [A, B, F, D, E]
    a, b, f, d, e = range(5)
    links = [Link(a, ROOT, 0), Link(b, a, 1), Link(f, a, 2), Link(d, b, 1), Link(d, f, 1),
             Link(e, d, 1)]  # fmt: skip
    whole = [(ROOT, A, 1), (0, B, 1), (1, D, 1), (2, E, 3), (ROOT, A, 2), (4, F, 1), (5, D, 1)]
    tree = Rebuilt(nodes, links, [0, 0, 0, 0, 0, 100], whole, [7, 7, 7, 7, 2, 2, 2])
    (first, second) = sorted(tree.ways(links[5], 3), key=lambda way: -way.share)
    assert first == Way(3, 7.5 / 10)
    assert second.share == 2.5 / 10


def test_nothing_is_lost_by_splitting() -> None:
    ways = [Way(0, 1 / 3), Way(1, 1 / 3), Way(2, 1 / 3)]
    assert split(100, ways) == [33, 34, 33]
    assert sum(split(7, ways)) == 7
    assert split(0, ways) == [0, 0, 0]
