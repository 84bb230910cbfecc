"""The chosen samples summed over the calling context tree; what the time views share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sonde.model.trees.context_tree import ContextTree, Flags, Ints, sums
from sonde.recording.tables import Recording
from sonde.row_values import BUILT_IN, RUNNING
from sonde.views.selecting.selection import Selection, chosen
from sonde.views.selecting.weighting import counting


class Function(NamedTuple):
    """A function as people know it, whatever process or code object it ran in."""

    name: str
    file: str
    line: int
    runtime: str

    @property
    def stands_in(self) -> bool:
        """Whether it is no function of the target but a name for what could not be seen."""
        return self.name.startswith("[") and self.file in ("", BUILT_IN)

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


UNDECODABLE = Function("[undecodable]", "", 0, "")
"""Stands at the root for samples without a stack, so that shares are of everything measured."""


@dataclass(frozen=True)
class Profile:
    """A tree of contexts, each with its own (self) time and samples, split by state.

    Contexts of different processes that read the same to a person are one node.
    """

    tree: ContextTree
    functions: list[Function]
    function: Ints
    line: Ints
    running: Ints
    waiting: Ints
    running_samples: Ints
    waiting_samples: Ints
    node: Ints
    """By row of the table of contexts: its node here, -1 if no sample needs it.

    One place more, which index -1 reaches too, is for samples without a context.
    """
    unit: str = "ns"
    """Nanoseconds, or the name of the event that is counted instead."""

    @property
    def own(self) -> Ints:
        return self.running + self.waiting

    @property
    def samples(self) -> Ints:
        return self.running_samples + self.waiting_samples

    @property
    def total(self) -> int:
        return int(self.own.sum())

    def functions_where(self, flags: list[bool]) -> Flags:
        """Which nodes are of a function that is flagged."""
        return np.array(flags, dtype=bool)[self.function]


def profile(
    recording: Recording, selection: Selection | None = None, *, merge_lines: bool = False
) -> Profile:
    """Sum the selected samples; `merge_lines` makes one node per function and caller path."""
    selection = selection or Selection()
    if selection.event is not None:
        recording = counting(recording, selection.event)
    contexts, samples = recording.contexts, recording.samples
    functions, identity = identities(recording)
    rows, weight = chosen(recording, selection)
    # The place after the last context takes the samples without one (their context is -1).
    size = len(contexts) + 1
    context = samples.context[rows]
    running = samples.state[rows] == RUNNING
    place = np.where(context < 0, size - 1, context)
    # Mostly all are running, and need not be picked out.
    states = [slice(None), slice(0)] if running.all() else [running, ~running]
    by_state = [sums(place[mask], weight[mask], size) for mask in states]
    by_state += [np.bincount(place[mask], minlength=size) for mask in states]
    found = summed_up(
        functions,
        contexts.parent,
        identity[np.append(contexts.function, -1)],
        contexts.line,
        by_state,
        merge_lines=merge_lines,
    )
    unit = "bytes" if selection.memory is not None else selection.event
    return found if unit is None else replace(found, unit=unit)


def summed_up(
    functions: list[Function],
    parent: ArrayLike,
    function_of: Ints,
    line_of: ArrayLike,
    by_state: list[Ints],
    *,
    merge_lines: bool = False,
) -> Profile:
    """The profile of contexts whose sums are known: time running and waiting, samples of each.

    Columns are by context; those of sums and functions have one place more, for none.
    """
    whole = ContextTree(np.append(np.asarray(parent, dtype=np.int64), -1))
    size = len(whole)
    touched = whole.totals(by_state[2] + by_state[3]) > 0
    tree, old = whole.kept(touched)
    function = function_of[old]
    line = np.maximum(np.append(np.asarray(line_of, dtype=np.int64), 0), 0)[old]
    if merge_lines:
        line = np.array([f.line for f in functions], dtype=np.int64)[function]
    span = int(line.max()) + 1 if len(line) else 1
    merged = tree.merged(function * span + line)
    node = np.full(size, -1, dtype=np.int64)
    node[old] = merged.node
    running_ns, waiting_ns, running_count, waiting_count = (
        sums(merged.node, column[old], len(merged.tree)) for column in by_state
    )
    return Profile(
        merged.tree,
        functions,
        merged.key // span,
        merged.key % span,
        running_ns,
        waiting_ns,
        running_count,
        waiting_count,
        node,
    )


def in_order(functions: Iterable[Function]) -> list[Function]:
    """The different ones by name, so that what weighs the same comes in the same order from
    wherever it was read; the one that stands for none comes last."""
    return [*sorted({*functions} - {UNDECODABLE}), UNDECODABLE]


def identities(recording: Recording) -> tuple[list[Function], Ints]:
    """The distinct functions, and for each row of the table (and -1) which one it is.

    Kept with the recording: several views of a summary need them.
    """
    kept = vars(recording)
    if "_identities" not in kept:
        kept["_identities"] = _identities(recording)
    found: tuple[list[Function], Ints] = kept["_identities"]
    return found


def _identities(recording: Recording) -> tuple[list[Function], Ints]:
    table = recording.functions
    columns = zip(table.name, table.file, table.line.tolist(), table.runtime, strict=True)
    rows = list(map(Function._make, columns))
    rows.append(UNDECODABLE)
    functions = in_order(rows)
    numbers = {function: i for i, function in enumerate(functions)}
    return functions, np.array([numbers[row] for row in rows], dtype=np.int64)
