"""Which line a bytecode belongs to: the line number table of a Java method."""

from __future__ import annotations

import struct

_ENTRY = struct.Struct("<II")
# The class file format allows no longer method.
_MAX = 65536


def lines(table: bytes) -> list[int]:
    """The line of every bytecode, by its index; 0 where the compiler gave none.

    The table holds pairs, ascending: from this index on it is this line. The last pair says where
    the method ends.
    """
    result: list[int] = []
    line = 0
    whole = len(table) - len(table) % _ENTRY.size
    for start, next_line in _ENTRY.iter_unpack(table[:whole]):
        result.extend([line] * (min(start, _MAX) - len(result)))
        line = next_line
    return result
