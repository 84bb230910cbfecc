"""Which functions of the program's own code does the time go to, with the libraries they call?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import sums
from sonde.views.selecting.own_code import OUTSIDE, is_own, of_own_code, with_vm_work
from sonde.views.selecting.profile import Function, Profile, profile
from sonde.views.stacks.flat import Flat, FlatRow

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(slots=True)
class LibraryCall:
    """A library function that a function called, with all the time until it returned."""

    function: Function
    self_ns: int

    def to_json(self) -> dict[str, Any]:
        f = self.function
        return {"name": f.name, "file": f.file, "line": f.line, "self": self.self_ns}


@dataclass(slots=True)
class OwnRow(FlatRow):
    """A function; its self time contains that of the libraries it called."""

    calls: list[LibraryCall] = field(default_factory=list)
    """By time, descending; the rest of the self time is the function's own code."""

    @property
    def main_call(self) -> LibraryCall | None:
        """The one that has most of the time, if there is one."""
        first = self.calls[0] if self.calls else None
        return first if first and first.self_ns * 2 > self.self_ns else None

    def to_json(self) -> dict[str, Any]:
        # super() without arguments does not work in a class with slots.
        return {**FlatRow.to_json(self), "calls": [call.to_json() for call in self.calls]}


def own_flat(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> Flat:
    """The time of every function of the program's own, and that of no such function."""
    found = with_vm_work(profile(recording, selection, merge_lines=True))
    own = is_own(recording, found.functions)
    return own_flat_of(of_own_code(found, own), [*own, True], top)


def own_flat_of(found: Profile, own: list[bool], top: int | None = None) -> Flat:
    """The same of a profile of own code; `own` is by function, and true of what stands for none."""
    tree, size = found.tree, len(found.functions)
    flags = found.functions_where(own)
    # Below a function of the program's own is one node for each library function it called.
    bearer = np.where(flags, np.arange(len(tree)), tree.parent)
    by = found.function[bearer]
    self_ns, samples = sums(by, found.own, size), sums(by, found.samples, size)
    apart = size + np.arange(len(tree))
    outer = flags & tree.outermost(np.where(flags, found.function, apart))
    total = sums(found.function[outer], tree.totals(found.own)[outer], size)

    calls: dict[int, list[LibraryCall]] = {}
    pairs, inverse = np.unique((by * size + found.function)[~flags], return_inverse=True)
    spent = sums(inverse, found.own[~flags], len(pairs))
    for at in np.lexsort((pairs, -spent)).tolist():
        caller, callee = divmod(int(pairs[at]), size)
        if spent[at]:
            calls.setdefault(caller, []).append(
                LibraryCall(found.functions[callee], int(spent[at]))
            )

    seen = np.unique(by)
    order = seen[np.lexsort((seen, -total[seen], -self_ns[seen]))][:top]
    rows: list[FlatRow] = [
        OwnRow(
            found.functions[f], int(self_ns[f]), int(total[f]), int(samples[f]), calls.get(f, [])
        )
        for f in order.tolist()
    ]
    return Flat(found.total, int(found.samples.sum()), rows, found.unit)


def has_own(result: Flat) -> bool:
    """Whether anything of the program's own was seen."""
    return any(row.function != OUTSIDE for row in result.rows)
