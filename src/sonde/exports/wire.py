"""Many messages of one kind at a time, in the wire format of protocol buffers.

A message object for each of millions of samples takes microseconds and hundreds of bytes. Here a
message is a row, and its bytes are the used places of that row, so NumPy makes them all at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VARINT, LENGTH_DELIMITED = 0, 2
"""Wire types of a field: a whole number, and bytes behind their length."""
_MAX_VARINT = 10


class Rows(NamedTuple):
    """Bytes of many messages: of each row those places that are `used`, from left to right."""

    data: NDArray[np.uint8]
    used: NDArray[np.bool_]

    @property
    def sizes(self) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = self.used.sum(axis=1)
        return sizes

    def to_bytes(self) -> bytes:
        """All rows behind one another."""
        return self.data[self.used].tobytes()


def joined(*parts: Rows) -> Rows:
    """Rows whose bytes follow one another."""
    return Rows(
        np.concatenate([part.data for part in parts], axis=1),
        np.concatenate([part.used for part in parts], axis=1),
    )


def number(field: int, values: NDArray[np.integer]) -> Rows:
    """A field that holds a number from 0 on; 0 is left out, as proto3 has it."""
    found = joined(_same(_tag(field, VARINT), len(values)), _varints(values))
    return Rows(found.data, found.used & (values != 0)[:, np.newaxis])


def message(field: int, content: Rows) -> Rows:
    """A field that holds a message."""
    head = _same(_tag(field, LENGTH_DELIMITED), len(content.data))
    return joined(head, _varints(content.sizes), content)


def _tag(field: int, wire_type: int) -> Rows:
    return _varints(np.array([field << 3 | wire_type]))


def _same(row: Rows, count: int) -> Rows:
    width = row.data.shape[1]
    return Rows(
        np.broadcast_to(row.data, (count, width)), np.broadcast_to(row.used, (count, width))
    )


def _varints(values: NDArray[np.integer]) -> Rows:
    """Seven bits a byte, the lowest first; the eighth says that another byte follows."""
    rest = values.astype(np.uint64)
    data: list[NDArray[np.uint8]] = []
    used: list[NDArray[np.bool_]] = []
    while len(data) < _MAX_VARINT:
        used.append(rest != 0 if data else np.ones(len(rest), dtype=bool))
        low = (rest & np.uint64(127)).astype(np.uint8)
        rest = rest >> np.uint64(7)
        more = rest != 0
        data.append(low | (more.astype(np.uint8) << np.uint8(7)))
        if not more.any():
            break
    return Rows(np.stack(data, axis=1), np.stack(used, axis=1))
