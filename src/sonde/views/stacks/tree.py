"""Where does the time go, by calling context?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import ContextTree
from sonde.views.selecting.own_code import is_own, of_own_code, with_vm_work
from sonde.views.selecting.profile import Profile, profile

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(slots=True)
class Node:
    """A frame in its calling context; times in nanoseconds.

    `samples` counts the samples that ended in this very node, as `self_ns` does time.
    """

    id: int
    parent: int | None
    name: str
    file: str
    line: int
    first_line: int
    self_ns: int
    total_ns: int
    samples: int
    state: str
    library: bool | None = None
    """Whether it is a library's function, with all that it called; None: nobody asked."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "parent": self.parent,
            "name": self.name,
            "file": self.file,
            "line": self.line,
            "first_line": self.first_line,
            "self": self.self_ns,
            "total": self.total_ns,
            "samples": self.samples,
            "state": self.state,
            **({} if self.library is None else {"library": self.library}),
        }


@dataclass(frozen=True)
class Tree:
    """Nodes in top-down order, of siblings the heaviest first; ids count in that order."""

    total_ns: int
    nodes: list[Node]
    unit: str = "ns"
    """Nanoseconds, or the name of the event that is counted instead."""

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "total": self.total_ns,
            "nodes": [node.to_json() for node in self.nodes],
        }


def tree(
    recording: Recording,
    selection: Selection | None = None,
    *,
    merge_lines: bool = False,
    top: int | None = None,
    while_held: str | None = None,
    mine: bool = False,
    vm_frames: bool = False,
) -> Tree:
    """The calling context tree of the selected time; `top` keeps the heaviest nodes only.

    `while_held` is a lock, `gil` or `loop`: then it is that of its holders while others waited.
    `mine`: of the program's own code, with a library function that it calls as one node.
    `vm_frames`: with what the JVM's compilers and garbage collectors do in detail.
    """
    if while_held is not None:
        found = _while_held(recording, selection, while_held, merge_lines=merge_lines)
    else:
        found = profile(recording, selection, merge_lines=merge_lines)
    if not vm_frames:
        found = with_vm_work(found)
    if not mine:
        return tree_of(found, top)
    own = is_own(recording, found.functions)
    return tree_of(of_own_code(found, own), top, [*own, True])


def _while_held(
    recording: Recording, selection: Selection | None, lock: str, *, merge_lines: bool
) -> Profile:
    from sonde.views.locks.while_held import profile_while_held
    from sonde.views.loops.lock_rows import KIND
    from sonde.views.loops.loop_locks import profile_while_loop_held
    from sonde.views.selecting.selection import Selection

    chosen = selection or Selection("wall")
    if lock == KIND:
        return profile_while_loop_held(recording, chosen, merge_lines=merge_lines)
    return profile_while_held(recording, chosen, lock, merge_lines=merge_lines)


def tree_of(found: Profile, top: int | None = None, own_code: list[bool] | None = None) -> Tree:
    """A profile as nodes; `own_code` is by function whether it is the program's own, where known.

    A node's state is that of its own time; a node without any has the state that most of
    its total has. A context that both ran and waited gives two sibling nodes, and what it
    called hangs below the running one.
    """
    both = np.flatnonzero((found.running_samples > 0) & (found.waiting_samples > 0))
    source = np.append(np.arange(len(found.tree)), both)
    own = np.append(found.own, found.waiting[both])
    samples = np.append(found.samples, found.waiting_samples[both])
    own[both] = found.running[both]
    samples[both] = found.running_samples[both]
    split = ContextTree(np.append(found.tree.parent, found.tree.parent[both]))

    total = split.totals(own)
    waited = found.tree.totals(found.waiting)
    mostly_waited = waited * 2 > found.tree.totals(found.own)
    own_waited = found.waiting_samples > 0
    waiting = np.append(
        np.where(found.samples > 0, own_waited & (found.running_samples == 0), mostly_waited),
        np.ones(len(both), dtype=bool),
    )

    position, _ = split.positions(total)
    order = np.argsort(position)
    if top is not None:
        # Read top-down a parent comes before its equally heavy child, so none is cut off.
        heaviest = np.argsort(-total[order], kind="stable")[:top]
        order = order[np.sort(heaviest)]
    number = np.full(len(split) + 1, -1, dtype=np.int64)
    number[order] = np.arange(len(order))

    functions, function = found.functions, found.function[source]
    rows = zip(
        number[split.parent[order]].tolist(),
        function[order].tolist(),
        found.line[source][order].tolist(),
        own[order].tolist(),
        total[order].tolist(),
        samples[order].tolist(),
        waiting[order].tolist(),
        strict=True,
    )
    nodes = []
    for i, (parent, f, line, self_ns, total_ns, count, waits) in enumerate(rows):
        name, file, first_line, _ = functions[f]
        nodes.append(
            Node(
                i,
                parent if parent >= 0 else None,
                name,
                file,
                line,
                first_line,
                self_ns,
                total_ns,
                count,
                "waiting" if waits else "running",
                None if own_code is None else not own_code[f],
            )
        )
    return Tree(found.total, nodes, found.unit)
