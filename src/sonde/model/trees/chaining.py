"""Putting the calling context tree together from pairs of a function and its caller.

Each sample names a function at a depth and who called it, at another depth (Inoue and Nakatani,
section 6). A caller is found again as the function of other samples at the same depth, up to the
outermost one. Where a function was called by several at one depth, what it stands for is spread
over them by how often each was seen. Far from the top of the stack pairs are reported once and then
never again: there it is whole stacks, of which one comes now and then, that say how often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_CONTEXTS = 64
"""So many ways to one function are distinguished; the least likely of more are left out."""
ROOT = -1


class Link(NamedTuple):
    """`caller` (ROOT: nobody) calls `node` in that line of its own."""

    node: int
    caller: int
    line: int


class Way(NamedTuple):
    """One calling context, and how likely it is the one."""

    context: int
    share: float


@dataclass(frozen=True)
class Ambiguity:
    """How much of a tree rests on guesses (Table 1 of the paper)."""

    nodes: int
    ambiguous_nodes: int
    """Those with several callers at the same depth."""
    functions: int
    samples: int
    one_level: int
    """Samples whose caller is the only one that their function has at that depth."""
    three_levels: int
    """The same for the caller's caller and the one above it."""

    def to_json(self) -> dict[str, int]:
        return {
            "nodes": self.nodes,
            "ambiguous_nodes": self.ambiguous_nodes,
            "functions": self.functions,
            "samples": self.samples,
            "one_level": self.one_level,
            "three_levels": self.three_levels,
        }


class Rebuilt:
    """The tree; contexts are added to the given ones as they are needed."""

    def __init__(
        self,
        function: list[int],
        links: list[Link],
        seen: list[int],
        contexts: Sequence[tuple[int, int, int]] = (),
        below: Sequence[int] = (),
    ) -> None:
        """`function` is by node; `seen` shows how often each link was.

        `contexts` are the parent, function and line of the contexts of whole stacks, and `below`
        how many of those stacks go through each.
        """
        self._function = function
        self._callers: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
        for link, times in zip(links, seen, strict=True):
            callers = self._callers[link.node]
            key = (link.caller, link.line)
            # One that was reported but never sampled is there all the same.
            callers[key] = callers.get(key, 0) + max(times, 1)
        self._first = len(contexts)
        self.contexts: list[tuple[int, int, int]] = []
        """Parent, function and line of those that were added."""
        self._known = {place: row for row, place in enumerate(contexts)}
        self._through: dict[tuple[int, int], int] = defaultdict(int)
        """Whole stacks in which a context calls a function."""
        for (parent, callee, _), stacks in zip(contexts, below, strict=True):
            self._through[parent, callee] += stacks
        self._ways: dict[int, list[tuple[int, float]]] = {}

    def ways(self, link: Link, line: int) -> list[Way]:
        """The contexts in which `link.node`, called as it says, may have run at that line."""
        function = self._function[link.node]
        if link.caller == ROOT:
            return [Way(self._context(ROOT, function, line), 1.0)]
        above = self._above(link.caller, link.line)
        return [Way(self._context(parent, function, line), share) for parent, share in above]

    def _above(self, node: int, line: int) -> list[tuple[int, float]]:
        """The contexts of a caller at its line, each with its share."""
        function = self._function[node]
        return [
            (self._context(parent, function, line), share) for parent, share in self._parents(node)
        ]

    def _parents(self, node: int) -> list[tuple[int, float]]:
        """The contexts of all who call a node. Without recursion: stacks are deeper than ours."""
        work = [node]
        under_way: set[int] = set()
        while work:
            at = work[-1]
            if at in self._ways:
                work.pop()
                continue
            under_way.add(at)
            callers = self._callers.get(at, {})
            # A generator may call itself at one depth: such a circle is followed once.
            missing = [
                caller
                for caller, _ in callers
                if caller != ROOT and caller not in self._ways and caller not in under_way
            ]
            if missing:
                work.extend(missing)
                continue
            self._ways[at] = self._spread(callers, self._function[at])
            under_way.discard(at)
            work.pop()
        return self._ways[node]

    def _spread(self, callers: dict[tuple[int, int], int], callee: int) -> list[tuple[int, float]]:
        found: dict[int, float] = defaultdict(float)
        for (caller, line), times in callers.items():
            if caller == ROOT:
                found[ROOT] += times
                continue
            function = self._function[caller]
            for parent, share in self._ways.get(caller, ()):
                found[self._context(parent, function, line)] += times * share
        if not found:
            return [(ROOT, 1.0)]
        # All pairs together weigh as much as one whole stack: they show how often the function was
        # on top of the stack, not how often it was somewhere in it.
        pairs = sum(found.values())
        for context, weight in found.items():
            found[context] = weight / pairs + self._through.get((context, callee), 0)
        likely = sorted(found.items(), key=lambda way: -way[1])[:MAX_CONTEXTS]
        total = sum(share for _, share in likely)
        return [(context, share / total) for context, share in likely]

    def _context(self, parent: int, function: int, line: int) -> int:
        key = (parent, function, line)
        row = self._known.get(key)
        if row is None:
            row = self._known[key] = self._first + len(self.contexts)
            self.contexts.append(key)
        return row

    def ambiguity(self, links: list[Link], seen: list[int]) -> Ambiguity:
        callers = {node: {caller for caller, _ in known} for node, known in self._callers.items()}
        one = three = 0
        for link, times in zip(links, seen, strict=True):
            sure, node = 0, link.node
            while sure < 3 and len(callers.get(node, ())) == 1:
                sure += 1
                (node,) = callers[node]
                if node == ROOT:
                    sure = 3
            one += times * (sure >= 1)
            three += times * (sure >= 3)
        return Ambiguity(
            nodes=len(callers),
            ambiguous_nodes=sum(len(known) > 1 for known in callers.values()),
            functions=len({self._function[node] for node in callers}),
            samples=sum(seen),
            one_level=one,
            three_levels=three,
        )


def split(weight: int, ways: list[Way]) -> list[int]:
    """A whole number spread over the ways; nothing is lost by rounding."""
    given, done, parts = 0.0, 0, []
    for way in ways:
        given += way.share
        upto = round(weight * min(given, 1.0))
        parts.append(upto - done)
        done = upto
    parts[-1] += weight - done
    return parts
