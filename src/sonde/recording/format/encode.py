"""Columns to bytes, without NumPy because the recorder runs beside production.

An integer column becomes: a tag (order, width), a base, and for every byte of
the width one plane: the n-th bytes of all values together. Values are stored as
distance from the base, the smallest one, so the high planes are mostly one
repeated byte, which zstd folds to nothing.
"""

from __future__ import annotations

import operator
import sys
from array import array
from collections.abc import Sequence
from typing import Any

from sonde.recording.format.framing import MAX_TEXT, pack_json, printable
from sonde.recording.format.schema import FLOAT, INTEGERS, TEXT, Column

VALUES = 0
DIFFERENCES = 1

_CUT = "…"


def encode_column(column: Column, values: Sequence[Any]) -> bytes:
    """The bytes of one column; ValueError names a value that does not fit."""
    if None in values:
        values = [column.default if value is None else value for value in values]
    try:
        if column.type in INTEGERS:
            low, high = column.bounds
            if min(values) < low or max(values) > high:
                raise ValueError(f"a value lies outside {low}..{high}")
            return encode_integers(values, column.ascending)
        if column.type == FLOAT:
            bits = array("q", array("d", values).tobytes())
            return encode_integers(bits, False)
        if column.type == TEXT:
            return _encode_texts([_text_bytes(value) for value in values])
        return _encode_texts([_list_bytes(value) for value in values])
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"column {column.name} ({column.type}): {error}") from error


def encode_integers(values: Sequence[int], ascending: bool) -> bytes:
    order = VALUES
    head = b""
    if ascending:
        order = DIFFERENCES
        head = varint(values[0])
        steps = list(map(operator.sub, values[1:], values))
        base = min(steps, default=0)
        # The first row has no difference; it takes the base to stay out of the way.
        values = [base, *steps]
    else:
        base = min(values)
    span = max(values) - base
    if span == 0:
        return bytes((order << 4,)) + head + varint(base)
    width = (span.bit_length() + 7) // 8
    offsets = [value - base for value in values] if base else values
    if width == 1:
        planes = bytes(offsets)
    else:
        size = 4 if width <= 4 else 8
        packed = array("I" if size == 4 else "Q", offsets)
        if sys.byteorder == "big":
            packed.byteswap()
        raw = packed.tobytes()
        planes = b"".join([raw[plane::size] for plane in range(width)])
    return bytes((order << 4 | width,)) + head + varint(base) + planes


def varint(value: int) -> bytes:
    """Zigzag, then seven bits a byte, lowest first."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode_texts(texts: list[bytes]) -> bytes:
    return encode_integers([len(text) for text in texts], False) + b"".join(texts)


def _text_bytes(text: str) -> bytes:
    data = printable(text).encode()
    if len(data) > MAX_TEXT:
        data = data[: MAX_TEXT - 3].decode(errors="ignore").encode() + _CUT.encode()
    return data


def _list_bytes(texts: Sequence[str]) -> bytes:
    data = pack_json(list(texts))
    return data if len(data) <= MAX_TEXT else pack_json(shorten(list(texts), MAX_TEXT))


def shorten(value: Any, limit: int) -> Any:
    """A value whose JSON has at most `limit` bytes: long texts and lists lose their end."""
    if len(pack_json(value)) <= limit:
        return value
    if isinstance(value, str):
        # A character takes at most 6 bytes in JSON.
        return value[: max(0, limit // 6 - 1)] + _CUT
    if isinstance(value, list):
        kept: list[Any] = []
        left = limit - len(pack_json([_CUT]))
        for item in value:
            short = shorten(item, max(16, limit // 4))
            left -= len(pack_json(short)) + 1
            if left < 0:
                break
            kept.append(short)
        return [*kept, _CUT]
    return _CUT
