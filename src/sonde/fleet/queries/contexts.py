"""The calling contexts of a store as a tree with numbers, which the views understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.fleet.store.hashes import NONE
from sonde.views.selecting.profile import UNDECODABLE, Function, in_order

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery
    from sonde.model.trees.context_tree import Ints


@dataclass(frozen=True)
class Functions:
    all: list[Function]
    """By name, as the views have them."""
    hashes: Ints
    """Ascending, and which function each one is."""
    number: Ints

    def numbers(self, hashes: Ints) -> Ints:
        """Which functions these are; what is not there is the undecodable one."""
        return _found(self.hashes, self.number, hashes, self.all.index(UNDECODABLE))

    def to_json(self, hash_: int) -> dict[str, Any] | None:
        if hash_ == NONE:
            return None
        return self.all[int(self.numbers(np.array([hash_]))[0])].to_json()


@dataclass(frozen=True)
class Contexts:
    """Parents come before their children."""

    functions: Functions
    hashes: Ints
    row: Ints
    parent: Ints
    function: Ints
    line: Ints

    def __len__(self) -> int:
        return len(self.parent)

    def rows(self, hashes: Ints) -> Ints:
        """Which rows these are; -1 for none."""
        return _found(self.hashes, self.row, hashes, -1)

    def chain(self, hash_: int) -> list[dict[str, Any]] | None:
        """As JSON, outermost first."""
        row = int(self.rows(np.array([hash_]))[0])
        frames = []
        while row >= 0:
            function = self.functions.all[int(self.function[row])]
            line = int(self.line[row])
            frames.append({**function.to_json(), "line": line, "first_line": function.line})
            row = int(self.parent[row])
        return frames[::-1] or None


def functions_of(asked: StoreQuery) -> Functions:
    table = asked.functions.to_pyarrow()
    rows = [
        Function(*row)
        for row in zip(
            *(table[name].to_pylist() for name in ("name", "file", "line", "runtime")), strict=True
        )
    ]
    functions = in_order(rows)
    place = {function: i for i, function in enumerate(functions)}
    hashes = numbers(table, "function")
    order = np.argsort(hashes)
    number = np.array([place[row] for row in rows], dtype=np.int64)
    return Functions(functions, hashes[order], number[order])


def contexts_of(asked: StoreQuery) -> Contexts:
    functions = functions_of(asked)
    table = asked.contexts.to_pyarrow()
    hashes, depth = numbers(table, "context"), numbers(table, "depth")
    order = np.lexsort((hashes, depth))
    by_hash = np.argsort(hashes[order])
    ascending = hashes[order][by_hash]
    parent = numbers(table, "parent")[order]
    return Contexts(
        functions,
        ascending,
        by_hash,
        _found(ascending, by_hash, parent, -1),
        functions.numbers(numbers(table, "function")[order]),
        numbers(table, "line")[order],
    )


def numbers(table: Any, column: str) -> Ints:
    return np.asarray(table[column].to_numpy(), dtype=np.int64)


def _found(ascending: Ints, number: Ints, wanted: Ints, otherwise: int) -> Ints:
    if not len(ascending):
        return np.full(len(wanted), otherwise, dtype=np.int64)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[place] == wanted, number[place], otherwise)
