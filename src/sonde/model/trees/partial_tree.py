"""The partial calling context tree: what is hot in which context, known at any time.

J. Whaley, "A portable sampling-based profiler for Java virtual machines". A node stands for a
function called from a place in its parent's. It has the CPU time that samples found in it, and the
number of times that one of them found it newly called; the first shows what takes long, the second
what is called often, and the two together which is which: a function that is found running a
thousand times in one activation is no reason to inline it.

A sample comes in two phases. Upwards, from the innermost frame, the stack is followed until a frame
that the thread's last sample has seen: its node is known. Downwards from there each frame finds its
node among the children of the one before, or becomes a new one, and counts as an activation. Who
has a stack in hand knows where the phases meet (`known`), and which frames are new activations
(`new`); these are different things, since a function that is called again from the same place has
the same node.

Memory is bounded, names included. When it is used up the coldest third of the nodes is dropped, by
the time of all that was called in them, so that a node never loses a warmer one with it. What was
dropped counts as time of the nearest caller that is kept, in something that it called: totals stay
right. A sample that brings more new frames than the longest walk keeps its innermost ones.

Columns of numbers instead of objects, since an object of Python takes several times the room, and
the bound is meant.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from sonde.model.trees.function_table import Function, FunctionTable
from sonde.model.trees.ranked import LENGTH, Ranked
from sonde.model.trees.top_k_filter import TopKFilter
from sonde.row_values import NO_FRAMES

DEFAULT_MEMORY = 256 << 10
MIN_MEMORY = 16 << 10
MAX_WALK = 256
ROOT = 0
LEFT_OUT = "[frames left out]"

# Seven columns of numbers: five of 4 bytes, two of 8; and one of 8 for dropping nodes. Arrays grow
# by a sixteenth.
_COLUMNS = (5 * 4 + 3 * 8) * 17 // 16
_SLOT = 4
# A text of some 80 characters, its number, and its places in a list and a dictionary.
_FUNCTION = 49 + 80 + 32 + 8 + 60
_MIN_TABLE_SIZE = 64
_AHEAD = 64
_MIXED = (1 << 32) - 1


class Frame(NamedTuple):
    """A function as part of a call stack."""

    function: Function
    line: int
    """Where it calls the next one; 0 of the innermost."""


class Hot(NamedTuple):
    """A node of the tree, or several that are the same function."""

    function: Function
    own_ns: int
    total_ns: int
    """With what it called."""
    share: float
    """Of all CPU time, what is its own."""
    samples: int
    activations: int
    """How often a sample found it newly called."""
    chain: tuple[Frame, ...]
    """From the outermost caller to itself; empty where contexts are added up."""

    @property
    def ns_per_activation(self) -> float | None:
        """About a sample's period: called often. Much more: takes long."""
        return self.total_ns / self.activations if self.activations else None


class HotEdge(NamedTuple):
    """A call: from a place in the caller."""

    caller: Function
    line: int
    callee: Function
    activations: int
    own_ns: int
    chain: tuple[Frame, ...]


class TreePosition:
    """Where the frames of a thread's last sample stand in the tree."""

    __slots__ = ("generation", "nodes")

    def __init__(self) -> None:
        self.nodes = array("I")
        self.generation = -1


class PartialTree:
    def __init__(self, memory: int = DEFAULT_MEMORY) -> None:
        if memory < MIN_MEMORY:
            raise ValueError(f"a tree takes {MIN_MEMORY} bytes at least")
        self.bound = memory
        self.longest_walk = min(MAX_WALK, memory >> 10)
        self.generation = 0
        """Grows when nodes and functions are numbered again."""
        self.dropped = self.purges = 0
        self._function, self._site, self._parent = array("I"), array("I"), array("I")
        self._samples, self._activations = array("I"), array("I")
        self._own, self._lost = array("Q"), array("Q")
        self._scratch = array("Q")
        self._by_time = Ranked(self._own)
        self._by_activations = Ranked(self._activations)
        self._begin()

    def _begin(self) -> None:
        for column in self._columns():
            del column[:]
            column.append(0)
        self._room = 0
        """Frames for which there is room without another look."""
        self._table = array("I", [0]) * _MIN_TABLE_SIZE
        self._functions = FunctionTable()
        self._by_time.start_over()
        self._by_activations.start_over()
        self.total_ns = self.samples = 0
        self.unknown_ns = 0
        """Of samples whose stack could not be had."""
        self.function(LEFT_OUT, "", 0, "")

    def _columns(self) -> tuple[array[int], ...]:
        return (
            self._function, self._site, self._parent, self._samples, self._activations, self._own,
            self._lost, self._scratch,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._function) - 1

    def purge(self) -> None:
        """Forgets everything, as who has made use of a profile does (Whaley, section 4)."""
        self._begin()
        self.generation += 1

    # ---- samples

    def known(self, stack: TreePosition, unchanged: int) -> int:
        """How many of the outermost frames have their nodes, of those that have not changed."""
        if stack.generation != self.generation:
            del stack.nodes[:]
            stack.generation = self.generation
        return min(unchanged, len(stack.nodes))

    def make_room(self, frames: int) -> None:
        """To be said before functions are numbered: room for as many new ones, and nodes."""
        frames = min(frames, self.longest_walk + 1)
        if frames <= self._room:
            self._room -= frames
            return
        while self._needed(frames) > self.bound and len(self):
            self._drop_coldest()
        self._room = _AHEAD if self._needed(frames + _AHEAD) <= self.bound else 0

    def function(self, name: str, file: str, line: int, runtime: str) -> int:
        """Its number, until the next generation."""
        return self._functions.number(name, file, line, runtime)

    def sample(
        self,
        stack: TreePosition,
        known: int,
        frames: Sequence[tuple[int, int]],
        new: range,
        ns: int,
    ) -> None:
        """A stack whose outermost `known` frames are those of the thread's last sample.

        The others, outermost first, are pairs: the line at which the caller calls, and the number
        of the function. `new` states which of all frames are new activations.
        """
        nodes, often = stack.nodes, self._by_activations
        functions, activations = self._function, self._activations
        start, stop = new.start, new.stop
        del nodes[known:]
        for at in range(start, min(stop, known)):
            node = nodes[at]
            if functions[node]:  # 0 stands for frames that were left out
                activations[node] += 1
                if activations[node] > often.floor:
                    often.grew(node)
        node = nodes[-1] if nodes else ROOT
        at = known
        left_out = len(frames) - self.longest_walk
        if left_out > 0:
            node = self._child(node, 0, 0)
            nodes.extend([node] * left_out)
            frames = frames[left_out:]
            at += left_out
        for site, function in frames:
            node = self._child(node, site, function)
            nodes.append(node)
            if start <= at < stop:
                activations[node] += 1
                if activations[node] > often.floor:
                    often.grew(node)
            at += 1
        self._samples[node] += 1
        self.samples += 1
        if ns:
            self._own[node] += ns
            self.total_ns += ns
            self._by_time.grew(node)

    def unknown(self, stack: TreePosition, ns: int) -> None:
        """A sample whose stack nobody could read."""
        del stack.nodes[:]
        self.total_ns += ns
        self.unknown_ns += ns
        self.samples += 1

    def function_at(self, stack: TreePosition, depth: int) -> int:
        """The number of the function of a frame in a thread's last sample; -1 if it has none."""
        if stack.generation != self.generation or depth >= len(stack.nodes):
            return -1
        return self._function[stack.nodes[depth]]

    # ---- nodes

    def _place(self, parent: int, site: int, function: int) -> int:
        """Where a child stands in the table, or would."""
        table, functions, parents, sites = self._table, self._function, self._parent, self._site
        mask = len(table) - 1
        mixed = (parent * 0x9E3779B1 ^ function * 0x85EBCA6B ^ site * 0xC2B2AE35) & _MIXED
        at = (mixed ^ mixed >> 15) & mask
        while node := table[at]:
            if functions[node] == function and parents[node] == parent and sites[node] == site:
                break
            at = (at + 1) & mask
        return at

    def _child(self, parent: int, site: int, function: int) -> int:
        at = self._place(parent, site, function)
        node = self._table[at]
        if node:
            return node
        node = len(self._function)
        for column, value in zip(
            self._columns(), (function, site, parent, 0, 0, 0, 0, 0), strict=True
        ):
            column.append(value)
        self._table[at] = node
        if 2 * node >= len(self._table):
            self._fill_table(2 * len(self._table))
        return node

    def _fill_table(self, size: int) -> None:
        self._table = array("I")  # the old one goes before the new one comes
        self._table = table = array("I", [0]) * size
        for node in range(1, len(self._function)):
            at = self._place(self._parent[node], self._site[node], self._function[node])
            table[at] = node

    # ---- memory

    def memory(self) -> int:
        """Bytes that the tree takes, with the names of what is in it."""
        columns = sum(map(sys.getsizeof, (*self._columns(), self._table)))
        return columns + self._functions.memory() + 2 * LENGTH * 40

    def _needed(self, frames: int) -> int:
        """Bytes if as many nodes came, each of a function that was never seen."""
        nodes, table = len(self._function) + frames, len(self._table)
        doubled = _SLOT * table if 2 * nodes >= table else 0
        functions = frames * _FUNCTION + self._functions.growth()
        return self.memory() + frames * _COLUMNS + doubled + functions

    def _drop_coldest(self) -> None:
        """Keeps two thirds of the nodes, by the time of all that was called in them."""
        count = len(self._function)
        parents, own, lost, scratch = self._parent, self._own, self._lost, self._scratch
        for node in range(count):
            scratch[node] = own[node] + lost[node]
        for node in range(count - 1, 0, -1):  # a parent's number is less than its children's
            scratch[parents[node]] += scratch[node]
        warmth = TopKFilter(islice(scratch, 1, None), (count - 1) * 2 // 3)
        kept = 1
        # From here on its number among those that are kept, and whether it is one of them.
        scratch[ROOT] = 1
        for node in range(1, count):
            # A parent is as warm at least, and comes first: with a node its callers are kept.
            above = scratch[parents[node]]
            if warmth.passes(scratch[node]):
                self._move(node, kept, above >> 1)
                scratch[node] = kept << 1 | 1
                kept += 1
            else:
                lost[above >> 1] += own[node] + lost[node]
                scratch[node] = above & ~1
        for column in self._columns():
            del column[kept:]
        self.dropped += count - kept
        self.purges += 1
        self.generation += 1
        self._forget_functions()
        self._by_time.start_over(range(kept))
        self._by_activations.start_over(range(kept))
        size = _MIN_TABLE_SIZE
        while 2 * kept >= size:
            size *= 2
        self._fill_table(size)

    def _move(self, node: int, to: int, parent: int) -> None:
        self._parent[to] = parent
        for column in (
            self._function, self._site, self._samples, self._activations, self._own, self._lost,
        ):  # fmt: skip
            column[to] = column[node]

    def _forget_functions(self) -> None:
        """Those of which no node is left."""
        numbers = self._functions.forget_all_but(sorted({0, *self._function}))
        for node, function in enumerate(self._function):
            self._function[node] = numbers[function]

    # ---- answers

    def hot(self, many: int = 10) -> list[Hot]:
        """The contexts that most time was found in."""
        totals, named = self._totals(), self._functions.all()
        return [
            Hot(
                named[self._function[node]] if node else _NO_FRAMES,
                self._own[node],
                totals[node] if node else self._own[node],
                self._share(self._own[node]),
                self._samples[node],
                self._activations[node],
                self._chain(node, named),
            )
            for node in self._by_time.first(many)
        ]

    def hot_functions(self, many: int = 10) -> list[Hot]:
        """The same with all contexts of a function added up."""
        own: dict[int, int] = {}
        for node in range(1, len(self._function)):
            function = self._function[node]
            own[function] = own.get(function, 0) + self._own[node]
        named = self._functions.all()
        chosen = sorted((f for f in own if own[f]), key=lambda f: -own[f])[:many]
        rank = {function: at for at, function in enumerate(chosen)}
        total, samples, activations = ([0] * len(chosen) for _ in range(3))
        inside = [0]  # of each node: which of the chosen it is in, bit by bit
        for node in range(1, len(self._function)):
            at = rank.get(self._function[node])
            bits = inside[self._parent[node]]
            if at is not None:
                bits |= 1 << at
                samples[at] += self._samples[node]
                activations[at] += self._activations[node]
            inside.append(bits)
            spent = self._own[node] + self._lost[node]
            while bits:
                low = bits & -bits
                total[low.bit_length() - 1] += spent
                bits ^= low
        return [
            Hot(
                named[function],
                own[function],
                total[at],
                self._share(own[function]),
                samples[at],
                activations[at],
                (),
            )
            for function, at in rank.items()
        ]

    def hot_edges(self, many: int = 10) -> list[HotEdge]:
        """The calls that were found newly made most often, each in its context."""
        named = self._functions.all()
        found: list[HotEdge] = []
        for node in self._by_activations.first(max(many * 2, LENGTH)):
            parent = self._parent[node]
            if parent and self._function[parent] and len(found) < many:
                found.append(self._edge(node, self._activations[node], self._own[node], named))
        return found

    def hot_call_sites(self, many: int = 10) -> list[HotEdge]:
        """The same with all contexts of a caller added up."""
        edges: dict[tuple[int, int, int], list[int]] = {}
        for node in range(1, len(self._function)):
            parent = self._parent[node]
            if parent and self._function[parent] and self._function[node]:
                key = (self._function[parent], self._site[node], self._function[node])
                sums = edges.setdefault(key, [0, 0])
                sums[0] += self._activations[node]
                sums[1] += self._own[node]
        named = self._functions.all()
        chosen = sorted(edges.items(), key=lambda edge: -edge[1][0])[:many]
        return [
            HotEdge(named[caller], line, named[callee], activations, own, ())
            for (caller, line, callee), (activations, own) in chosen
            if activations
        ]

    def rows(self) -> list[tuple[int, Function, int, int, int]]:
        """All nodes: parent (-1: none), function, call line, own time, activations."""
        named = self._functions.all()
        return [
            (
                self._parent[node] - 1,
                named[self._function[node]],
                self._site[node],
                self._own[node],
                self._activations[node],
            )
            for node in range(1, len(self._function))
        ]

    def _edge(self, node: int, activations: int, own: int, named: list[Function]) -> HotEdge:
        caller, callee = self._function[self._parent[node]], self._function[node]
        chain = self._chain(node, named)
        return HotEdge(named[caller], self._site[node], named[callee], activations, own, chain)

    def _share(self, ns: int) -> float:
        return ns / self.total_ns if self.total_ns else 0.0

    def _totals(self) -> array[int]:
        totals = array("Q", (own + lost for own, lost in zip(self._own, self._lost, strict=True)))
        for node in range(len(totals) - 1, 0, -1):
            totals[self._parent[node]] += totals[node]
        return totals

    def _chain(self, node: int, named: list[Function]) -> tuple[Frame, ...]:
        chain, line = [], 0
        while node:
            chain.append(Frame(named[self._function[node]], line))
            node, line = self._parent[node], self._site[node]
        return tuple(reversed(chain))


_NO_FRAMES = Function(NO_FRAMES, "", 0, "")
