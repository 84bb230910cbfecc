"""Which line an instruction belongs to: CPython's location table, 3.11 to 3.15.

The table is a run of entries, each covering one to eight instructions. Decoding happens in the
recorder, once per code object, because it costs far more than copying the table.
"""

from __future__ import annotations

# What an entry's four-bit code means. 0-9: short form, same line. 10-12: line grows by code - 10.
_ONE_LINE_FIRST, _ONE_LINE_LAST = 10, 12
_NO_COLUMNS, _LONG, _NONE = 13, 14, 15


def lines(table: bytes, first_line: int) -> list[int]:
    """The line of every instruction, by its index; 0 where the compiler gave none."""
    result: list[int] = []
    line = first_line
    at, end = 0, len(table)
    while at < end:
        head = table[at]
        at += 1
        code = head >> 3 & 15
        length = (head & 7) + 1
        if code == _NONE:
            result.extend([0] * length)
            continue
        if code == _LONG or code == _NO_COLUMNS:
            delta, at = _signed(table, at)
            line += delta
        elif _ONE_LINE_FIRST <= code <= _ONE_LINE_LAST:
            line += code - _ONE_LINE_FIRST
        # Columns follow in bytes with the top bit clear; only an entry's head has it set.
        while at < end and not table[at] & 0x80:
            at += 1
        result.extend([line] * length)
    return result


def _signed(table: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer of six-bit groups, lowest first, its sign in the lowest bit."""
    value = shift = 0
    while at < len(table):
        group = table[at]
        at += 1
        value |= (group & 63) << shift
        shift += 6
        if not group & 64:
            break
    return (-(value >> 1) if value & 1 else value >> 1), at
