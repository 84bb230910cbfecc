"""Blocks of tables that hold only numbers, decoded many at a time: no Python step per block.

The result is that of `decode.TableDecoder`, block by block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format.encode import DIFFERENCES

Integers = NDArray[np.uint64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

MAX_WIDTH = 8
MAX_VARINT = 11
"""Bytes; those beyond the tenth hold no bit that counts."""


class Heads(NamedTuple):
    """Where each block keeps the values of one column, and how."""

    order: NDArray[Any]
    width: NDArray[Any]
    first: Integers
    base: Integers
    offset: Places


class NumberBlocks:
    """Decompressed blocks behind one another; every one has the same columns."""

    def __init__(self, blocks: list[bytes], rows: Places | list[int], columns: int) -> None:
        # One byte more: there is one to look at behind the last block, and where all are empty.
        self.data = np.frombuffer(b"".join([*blocks, b"\0"]), dtype=np.uint8)
        self.rows: Places = np.asarray(rows, dtype=np.int64)
        sizes = np.array([len(block) for block in blocks], dtype=np.int64)
        self._ends = np.cumsum(sizes)
        self._parse(columns, self._ends - sizes)

    def _parse(self, columns: int, position: Places) -> None:
        self.good: Flags = position < self._ends
        self.heads: list[Heads] = []
        for _ in range(columns):
            tag = self._bytes(position)
            position = position + 1
            order, width = tag >> 4, tag & 15
            self.good &= (order <= DIFFERENCES) & (width <= MAX_WIDTH)
            first = np.zeros(len(self.rows), dtype=np.uint64)
            steps = np.flatnonzero(order == DIFFERENCES)
            if len(steps):
                first[steps], after, whole = self._varints(position[steps])
                position[steps] = after
                self.good[steps] &= whole
            base, position, whole = self._varints(position)
            self.good &= whole
            self.heads.append(Heads(order, width, first, base, position))
            position = position + self.rows * width
            self.good &= position <= self._ends
        self.good &= position == self._ends

    def _bytes(self, position: Places) -> NDArray[np.uint8]:
        """One byte of each block; anything where a block has ended, which makes it a bad one."""
        return self.data[np.minimum(position, len(self.data) - 1)]

    def _varints(self, position: Places) -> tuple[Integers, Places, Flags]:
        """Values modulo 2**64, the places behind them, and which of them end."""
        byte = self._bytes(position)
        odd = (byte & 1).astype(bool)
        half = ((byte & 127) >> 1).astype(np.uint64)
        more = np.flatnonzero(byte >= 128)
        position = position + 1
        for place in range(1, MAX_VARINT):
            if not len(more):
                break
            byte = self._bytes(position[more])
            if 7 * place - 1 < 64:
                half[more] |= (byte & 127).astype(np.uint64) << np.uint64(7 * place - 1)
            position[more] += 1
            more = more[byte >= 128]
        whole = np.ones(len(position), dtype=bool)
        whole[more] = False
        return np.where(odd, ~half, half), position, whole

    def keep(self, good: Flags) -> None:
        """Forgets the other blocks."""
        self.rows = self.rows[good]
        self.heads = [
            Heads(h.order[good], h.width[good], h.first[good], h.base[good], h.offset[good])
            for h in self.heads
        ]
        self.good = self.good[good]

    def constant(self, column: int) -> np.uint64 | None:
        """The value of a column that has the same one in every row of these blocks."""
        head = self.heads[column]
        if not len(head.base) or head.width.any() or (head.order == DIFFERENCES).any():
            return None
        first: np.uint64 = head.base[0]
        return first if (head.base == first).all() else None

    def decode(self, column: int) -> Integers:
        """The values of one column in all blocks; `keep` the good ones first."""
        head, counts = self.heads[column], self.rows
        values = np.repeat(head.base, counts)
        starts = np.cumsum(counts) - counts
        deepest = int(head.width.max(initial=0))
        if deepest:
            # The place of every row's lowest byte; the next plane is one row count on.
            places = np.arange(len(values)) + np.repeat(head.offset - starts, counts)
            stride = np.repeat(counts, counts)
            for plane in range(deepest):
                shift = np.uint64(8 * plane)
                if (deep := head.width > plane).all():
                    values += self.data[places].astype(np.uint64) << shift
                else:
                    rows = np.flatnonzero(np.repeat(deep, counts))
                    values[rows] += self.data[places[rows]].astype(np.uint64) << shift
                places += stride
        steps = head.order == DIFFERENCES
        if not steps.any():
            return values
        values[starts[steps]] = head.first[steps]
        sums = np.cumsum(values, dtype=np.uint64)
        sums -= np.repeat(sums[starts] - head.first, counts)
        return sums if steps.all() else np.where(np.repeat(steps, counts), sums, values)
