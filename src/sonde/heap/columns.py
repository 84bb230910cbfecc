"""What is in objects, from columns: of a snapshot file, or made by what reads a heap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.snapshot import Label, Rooms, Texts

Digests = tuple["NDArray[np.uint32]", "NDArray[np.uint64]"]


@dataclass(frozen=True)
class References:
    """Those of a snapshot, as its columns have them."""

    first: NDArray[np.uint64]
    to: NDArray[np.uint32]
    label: NDArray[np.uint32]
    labels: list[Label]


@dataclass(frozen=True)
class ColumnContents:
    """Each column is made when it is first asked for."""

    load_references: Callable[[], References]
    load_texts: Callable[[], Texts]
    load_positions: Callable[[], NDArray[np.uint32] | None]
    load_digests: Callable[[], Digests]
    load_rooms: Callable[[], Rooms]

    def text(self, number: int) -> str | None:
        texts = self._texts
        at = int(np.searchsorted(texts.object, np.uint32(number)))
        if at == len(texts.object) or int(texts.object[at]) != number:
            return None
        begin = int(texts.end[at - 1]) if at else 0
        return texts.bytes[begin : int(texts.end[at])].tobytes().decode("utf-8", "replace")

    def index(self, number: int, target: int) -> int | None:
        begin, end = (int(edge) for edge in self._references.first[number : number + 2])
        is_index = self._is_index[self._references.label[begin:end]]
        found = np.flatnonzero((self._references.to[begin:end] == target) & is_index)
        if not len(found):
            return None
        rank = int(np.count_nonzero(is_index[: found[0]]))
        positions = self._positions
        if positions is None:
            return rank
        before = int(np.count_nonzero(self._is_index[self._references.label[:begin]]))
        return int(positions[before + rank])

    def texts(self) -> Texts:
        return self._texts

    def positions(self) -> NDArray[np.uint32] | None:
        return self._positions

    def digests(self) -> Digests:
        return self.load_digests()

    def rooms(self) -> Rooms:
        return self.load_rooms()

    @cached_property
    def _references(self) -> References:
        return self.load_references()

    @cached_property
    def _texts(self) -> Texts:
        return self.load_texts()

    @cached_property
    def _positions(self) -> NDArray[np.uint32] | None:
        return self.load_positions()

    @cached_property
    def _is_index(self) -> NDArray[np.bool_]:
        return np.array([label.kind == "index" for label in self._references.labels], bool)
