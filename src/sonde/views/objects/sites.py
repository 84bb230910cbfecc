"""Where objects were allocated: nowhere in particular, at a site, or in a call stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.locks.lock_kinds import is_library
from sonde.views.locks.contentions import Chains, chains_of
from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.objects.sampled import Ints


class Places:
    """Of samples, by their rows in the table of objects."""

    def __init__(self, recording: Recording, rows: Ints, by: str) -> None:
        self._by = by
        self._chains = chains = chains_of(recording)
        self.place: Ints = np.full(len(rows), -1, dtype=np.int64)
        """-1: not asked or not known."""
        self.size = len(chains.function) + 1
        if by == "context":
            self.place = chains.node[recording.objects.context[rows]]
        elif by == "site":
            self.place = sites(chains)[chains.node[recording.objects.context[rows]]]

    def site(self, sample: int) -> tuple[Function, int] | None:
        place = int(self.place[sample])
        if self._by != "site" or place < 0:
            return None
        chains = self._chains
        return chains.functions[int(chains.function[place])], int(chains.line[place])

    def chain(self, sample: int) -> list[dict[str, Any]] | None:
        if self._by != "context":
            return None
        return self._chains.to_json(int(self.place[sample]))


def sites(chains: Chains) -> Ints:
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
