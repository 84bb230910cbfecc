"""Which objects were made, how many, and where?

Only some were seen: of an object of n bytes the runtime takes a sample with probability
1 - exp(-n / every). So each one seen stands for as many as it takes, on average, to see one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.locks.contention import Ints
from sonde.model.locks.lock_kinds import is_library
from sonde.views.locks.contentions import Chains, chains_of
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import Selection, threads_of

if TYPE_CHECKING:
    from sonde.recording.tables import Objects as Table
    from sonde.recording.tables import Recording

BY = ("class", "site", "context")
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class ObjectsRow:
    """Objects of one class; by site or context those made there."""

    type: str
    site: tuple[Function, int] | None
    """The innermost function that is of no library, and its line; None: not asked or not known."""
    chain: list[dict[str, Any]] | None
    """Outermost first."""
    bytes: int
    """Of those that were seen."""
    count: int
    estimated_bytes: int
    estimated_count: int

    def to_json(self) -> dict[str, Any]:
        site = None
        if self.site is not None:
            function, line = self.site
            site = {**function.to_json(), "line": line, "first_line": function.line}
        return {
            "class": self.type,
            "site": site,
            "context": self.chain,
            "bytes": self.bytes,
            "count": self.count,
            "estimated_bytes": self.estimated_bytes,
            "estimated_count": self.estimated_count,
        }


@dataclass(frozen=True)
class Objects:
    """Rows by estimated bytes, descending; sums are of all of them, those not shown included."""

    by: str
    bytes: int
    count: int
    estimated_bytes: int
    estimated_count: int
    classes: int
    rows: list[ObjectsRow]
    left: int
    """Rows that are not here."""

    def to_json(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "bytes": self.bytes,
            "count": self.count,
            "estimated_bytes": self.estimated_bytes,
            "estimated_count": self.estimated_count,
            "rows": [row.to_json() for row in self.rows],
        }


def objects(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: str = "class",
    top: int | None = None,
) -> Objects:
    if by not in BY:
        raise UsageError(invalid("--by", by, BY, "values for objects"))
    table = recording.objects
    picked = _picked(recording, table, selection or Selection())
    chains = chains_of(recording)
    place = np.full(len(picked), -1, dtype=np.int64)
    if by == "context":
        place = chains.node[table.context[picked]]
    elif by == "site":
        place = _sites(chains)[chains.node[table.context[picked]]]
    types = table.type[picked].astype(np.int64)
    names = [*recording.types.name, UNKNOWN]
    size = table.size[picked]
    # What one that was seen stands for.
    every = np.maximum(table.every[picked], 1)
    stands_for = 1 / -np.expm1(-np.maximum(size, 1) / every)
    key = (types + 1) * (len(chains.function) + 1) + place + 1
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    counts = np.bincount(group, minlength=len(first))
    sums = np.bincount(group, size, len(first))
    all_bytes = np.bincount(group, size * stands_for, len(first))
    all_counts = np.bincount(group, stands_for, len(first))
    order = np.lexsort((first, -all_bytes))
    rows = [
        ObjectsRow(
            type=names[int(types[first[i]])],
            site=_site(chains, int(place[first[i]])) if by == "site" else None,
            chain=chains.to_json(int(place[first[i]])) if by == "context" else None,
            bytes=int(sums[i]),
            count=int(counts[i]),
            estimated_bytes=round(float(all_bytes[i])),
            estimated_count=round(float(all_counts[i])),
        )
        for i in order[:top].tolist()
    ]
    return Objects(
        by=by,
        bytes=int(size.sum()),
        count=len(picked),
        estimated_bytes=round(float(all_bytes.sum())),
        estimated_count=round(float(all_counts.sum())),
        classes=len(np.unique(types)),
        rows=rows,
        left=len(order) - len(rows),
    )


def _picked(recording: Recording, table: Table, selection: Selection) -> Ints:
    keep = table.time >= 0  # others were allocated in an earlier segment
    if selection.thread is not None or selection.process is not None:
        keep &= threads_of(recording, selection)[table.thread]
    if selection.start_ns is not None:
        keep &= table.time >= selection.start_ns
    if selection.end_ns is not None:
        keep &= table.time < selection.end_ns
    return np.flatnonzero(keep)


def _sites(chains: Chains) -> Ints:
    """For each chain (and, last, for none) its innermost part that ends in no library.

    Chains of one function and line are one site, whoever calls it: the first of them stands for
    all. A chain that is of libraries alone ends where it ends.
    """
    own = np.array([not is_library(function.file) for function in chains.functions], dtype=bool)
    found = np.empty(len(chains.function) + 1, dtype=np.int64)
    found[-1] = -1
    first: dict[tuple[int, int], int] = {}
    parent = chains.tree.parent
    for chain in range(len(chains.function)):  # a caller comes before those it calls
        above = int(parent[chain])
        function, line = int(chains.function[chain]), int(chains.line[chain])
        library = not own[function]
        if library and above >= 0 and own[int(chains.function[int(found[above])])]:
            found[chain] = found[above]
        else:
            found[chain] = first.setdefault((function, line), chain)
    return found


def _site(chains: Chains, chain: int) -> tuple[Function, int] | None:
    if chain < 0:
        return None
    return chains.functions[int(chains.function[chain])], int(chains.line[chain])
