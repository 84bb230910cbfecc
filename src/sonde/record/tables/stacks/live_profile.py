"""The session's profile while it runs: a partial tree, fed by the samples as they are drained."""

from __future__ import annotations

import json
import time
from array import array
from typing import TYPE_CHECKING, Any

from sonde.errors import UsageError
from sonde.model.trees.function_table import Function
from sonde.model.trees.partial_tree import MIN_MEMORY, Frame, PartialTree, TreePosition

from ...shm import layout as shm
from .profile_result import BY, MAX_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..active_sampler import Sampling
    from .contexts import Contexts

# A message between processes may have some 200 KB; chains are reported as far as this allows.
MAX_ANSWER_LENGTH = 100_000
MAX_CHAIN_LENGTH = 256


def check_memory(option: str, memory: int) -> int:
    if memory < MIN_MEMORY:
        raise UsageError(f"{option} needs a size of at least {MIN_MEMORY >> 10}KiB")
    return memory


class LiveProfile:
    """One for all processes of a session: what is the same code is the same node."""

    def __init__(self, contexts: Contexts, memory: int) -> None:
        self.tree = PartialTree(memory)
        self._contexts = contexts
        self._since = time.monotonic_ns()
        self._numbers = array("i")
        """The tree's functions by their rows in the segment being written; -1: not known."""
        self._generation = 0
        self.exact = True
        """All samples reported which of their frames are new activations."""
        self.stated = 0
        """How many did."""

    def forget_rows(self) -> None:
        """A new segment has other rows."""
        del self._numbers[:]

    def purge(self) -> None:
        """Forgets what is known, to begin again."""
        self.tree.purge()
        self.exact = True
        self.stated = 0
        self._since = time.monotonic_ns()

    def frames(self, rows: Sequence[int], known: int) -> list[tuple[int, int]]:
        """The frames from `known` on, as the tree wants them."""
        contexts, numbers = self._contexts, self._numbers
        if self._generation != self.tree.generation:
            self._generation = self.tree.generation
            del numbers[:]
        if len(numbers) < contexts.functions:
            numbers.extend([-1] * (contexts.functions - len(numbers)))
        places = contexts.places
        site = places[rows[known - 1]][2] if known else 0
        found = []
        for row in rows[known:]:
            _, function, line = places[row]
            number = numbers[function]
            if number < 0:
                number = numbers[function] = self.tree.function(*contexts.described(function))
            found.append((site, number))
            site = line
        return found

    def is_native(self, row: int) -> bool:
        return self._contexts.is_native(self._contexts.places[row][1])

    def number_of(self, row: int) -> int:
        """The tree's function of a frame, -1 if it has none by that name."""
        function = self._contexts.places[row][1]
        if self._generation != self.tree.generation or function >= len(self._numbers):
            return -1
        return self._numbers[function]

    # ---- what it says

    def facts(self) -> dict[str, Any]:
        """For the quality of the recording."""
        tree = self.tree
        return {
            "memory": tree.memory(),
            "bound": tree.bound,
            "contexts": len(tree),
            "dropped": tree.dropped,
            "purges": tree.purges,
            "activations": "marked" if self.exact else "at least",
            "activations_known": self.stated / tree.samples if tree.samples else 0.0,
        }

    def answer(self, top: int = 10, by: str = "context") -> dict[str, Any]:
        """The profile of now; chains as far as they can be sent."""
        if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= MAX_FUNCTIONS:
            raise UsageError(f"invalid number of rows {top!r}; give 1 to {MAX_FUNCTIONS}")
        if by not in BY:
            raise UsageError(f"invalid profile {by!r}; valid profiles: {', '.join(BY)}")
        chain = MAX_CHAIN_LENGTH
        while True:
            answer = self._answer(top, by, chain)
            if chain <= 1 or len(json.dumps(answer)) <= MAX_ANSWER_LENGTH:
                return answer
            chain //= 2

    def _answer(self, top: int, by: str, chain: int) -> dict[str, Any]:
        tree = self.tree
        if by == "context":
            hot, edges = tree.hot(top), tree.hot_edges(top)
        else:
            hot, edges = tree.hot_functions(top), tree.hot_call_sites(top)
        functions: dict[Function, int] = {}

        def number(function: Function) -> int:
            return functions.setdefault(function, len(functions))

        def links(frames: tuple[Frame, ...]) -> list[tuple[int, int]]:
            return [(number(frame.function), frame.line) for frame in frames[-chain:]]

        return {
            "for_ns": time.monotonic_ns() - self._since,
            "total_ns": tree.total_ns,
            "unknown_ns": tree.unknown_ns,
            "samples": tree.samples,
            "by": by,
            "hot": [
                {
                    "function": number(row.function),
                    "own_ns": row.own_ns,
                    "total_ns": row.total_ns,
                    "share": row.share,
                    "samples": row.samples,
                    "activations": row.activations,
                    "chain": links(row.chain),
                }
                for row in hot
            ],
            "hot_edges": [
                {
                    "caller": number(edge.caller),
                    "line": edge.line,
                    "callee": number(edge.callee),
                    "activations": edge.activations,
                    "own_ns": edge.own_ns,
                    "chain": links(edge.chain),
                }
                for edge in edges
            ],
            "functions": [list(function) for function in functions],
            **self.facts(),
        }


class LiveThread:
    """One thread's last sample in the tree."""

    __slots__ = ("_online", "_sampling", "_stack", "_stated", "unchanged")

    def __init__(self, online: LiveProfile, sampling: Sampling) -> None:
        self._online = online
        self._sampling = sampling
        self._stack = TreePosition()
        self._stated = True
        """The last sample reported which of its frames are new activations."""
        self.unchanged = 0
        """Outermost frames that have looked the same in every record since the last sample."""

    def sample(self, rows: Sequence[int], flags: int, same: int, ns: int) -> None:
        """A sample of the stack whose contexts are `rows`, outermost first."""
        online, tree, stack = self._online, self._online.tree, self._stack
        depth = len(rows)
        unchanged, self.unchanged = min(self.unchanged, depth), depth
        if flags & shm.UNDECODABLE:
            tree.unknown(stack, ns)
            return
        tree.make_room(depth - tree.known(stack, unchanged))
        known = tree.known(stack, unchanged)
        new = self._new(rows, unchanged, flags, same)
        tree.sample(stack, known, online.frames(rows, known), new, ns)

    def unknown(self, ns: int) -> None:
        self.unchanged = 0
        self._online.tree.unknown(self._stack, ns)

    def _new(self, rows: Sequence[int], unchanged: int, flags: int, same: int) -> range:
        """Which frames are new activations."""
        depth = len(rows)
        if flags & shm.ACTIVATIONS:
            self._online.stated += 1
            # It refers to the last one that reported; those in between have counted what is new.
            if not self._stated:
                same = max(same, min(unchanged, depth))
            self._stated = True
            # The call of the last may not be complete: it counts in the next sample that finds it.
            begun = depth - 1 if flags & shm.UNBEGUN else depth
            # A C function has no frame that could be marked: it counts where it has changed.
            while same < min(unchanged, depth) and self._online.is_native(rows[same]):
                same += 1
            return range(same, begun)
        if not rows or self._sampling.marks_activations():
            return range(0)  # what is new in it is not marked, and counts in the next sample
        # It is not reported: what has not changed counts as the same, and so does the frame that
        # has moved within its function.
        self._online.exact = self._stated = False
        moved = (
            unchanged < depth
            and self._online.tree.function_at(self._stack, unchanged)
            == self._online.number_of(rows[unchanged])
            >= 0
        )
        return range(unchanged + moved, depth)
