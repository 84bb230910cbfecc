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


def starts(table: bytes) -> list[int]:
    """By the index of every instruction: the first one in a row of the same source range.

    One call may be several instructions (PRECALL and CALL on 3.11) and their caches.
    """
    result: list[int] = []
    line = at = 0
    end = len(table)
    before: tuple[int, ...] | None = None
    while at < end:
        head = table[at]
        at += 1
        code = head >> 3 & 15
        found: tuple[int, ...] | None = None
        if code == _LONG:
            delta, at = _signed(table, at)
            line += delta
            more, at = _unsigned(table, at)
            first, at = _unsigned(table, at)
            last, at = _unsigned(table, at)
            found = (line, line + more, first - 1, last - 1)
        elif code == _NO_COLUMNS:
            delta, at = _signed(table, at)
            line += delta
            found = (line,)
        elif code < _NONE:
            columns = table[at : at + 2]
            if _ONE_LINE_FIRST <= code <= _ONE_LINE_LAST:
                line += code - _ONE_LINE_FIRST
                found = (line, line, *columns)
            elif columns:
                column = code * 8 + (columns[0] >> 4)
                found = (line, line, column, column + (columns[0] & 15))
        while at < end and not table[at] & 0x80:
            at += 1
        same = found is not None and found == before
        result.extend([result[-1] if same else len(result)] * ((head & 7) + 1))
        before = found
    return result


def _signed(table: bytes, at: int) -> tuple[int, int]:
    """The same with its sign in the lowest bit."""
    value, at = _unsigned(table, at)
    return (-(value >> 1) if value & 1 else value >> 1), at


def _unsigned(table: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer of six-bit groups, lowest first."""
    value = shift = 0
    while at < len(table):
        group = table[at]
        at += 1
        value |= (group & 63) << shift
        shift += 6
        if not group & 64:
            break
    return value, at
