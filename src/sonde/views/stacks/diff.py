"""What became slower and what faster between two recordings, and how alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import ContextTree, sums
from sonde.model.trees.overlap import Likeness
from sonde.views.selecting.profile import Function, Profile, profile
from sonde.views.stacks.function_match import same_functions

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(slots=True)
class DiffRow:
    """A function with its own time in both."""

    function: Function
    base_ns: int
    new_ns: int

    @property
    def delta_ns(self) -> int:
        return self.new_ns - self.base_ns

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.function.name,
            "file": self.function.file,
            "line": self.function.line,
            "base": self.base_ns,
            "new": self.new_ns,
            "delta": self.delta_ns,
        }


@dataclass(frozen=True)
class Diff:
    """Functions that have own time in either, the greatest change first."""

    base_ns: int
    new_ns: int
    alike: Likeness
    rows: list[DiffRow]

    def to_json(self) -> dict[str, Any]:
        return {**self.alike.to_json(), "rows": [row.to_json() for row in self.rows]}


def diff(
    base: Recording,
    new: Recording,
    selection: Selection | None = None,
    new_selection: Selection | None = None,
    *,
    top: int | None = None,
) -> Diff:
    """The selected time of both, compared by function and by calling context.

    `new_selection` is that of the new recording, where it is another.
    """
    before = profile(base, selection, merge_lines=True)
    after = profile(new, new_selection or selection, merge_lines=True)
    return diff_of(before, after, top)


def diff_of(before: Profile, after: Profile, top: int | None = None) -> Diff:
    """Two profiles with one node per function, compared."""
    same = same_functions(before.functions, after.functions)

    # Both trees beside each other, then one node for what is of the same functions all the way up.
    size = len(before.tree)
    shifted = np.where(after.tree.parent < 0, -1, after.tree.parent + size)
    function = np.append(same.of_base[before.function], same.of_new[after.function])
    union = ContextTree(np.append(before.tree.parent, shifted)).merged(function)
    own_base = sums(union.node[:size], before.own, len(union.tree))
    own_new = sums(union.node[size:], after.own, len(union.tree))

    count = len(same.functions)
    spent_base = sums(union.key, own_base, count)
    spent_new = sums(union.key, own_new, count)
    both, change = spent_base + spent_new, np.abs(spent_new - spent_base)
    seen = np.flatnonzero(both)
    order = seen[np.lexsort((seen, -both[seen], -change[seen]))]
    return Diff(
        base_ns=before.total,
        new_ns=after.total,
        alike=Likeness.of(own_base, own_new),
        rows=[
            DiffRow(same.functions[f], int(spent_base[f]), int(spent_new[f]))
            for f in order[:top].tolist()
        ],
    )
