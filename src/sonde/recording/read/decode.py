"""Blocks to columns, with NumPy and without a Python step per row.

Heads of columns are parsed block by block, values are decoded for all blocks of
a table together. All arithmetic is modulo 2**64, where differences and bases of
either sign just work; `reader` checks the results against the columns' bounds.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format import zstd
from sonde.recording.format.encode import DIFFERENCES
from sonde.recording.format.framing import MAX_RAW, RAW, ZSTD, printable
from sonde.recording.format.schema import FLOAT, INTEGERS, TEXT, Column
from sonde.recording.read.recovery import Blocks

_MASK = 2**64 - 1
_VARINT_BITS = 70

Integers = NDArray[np.uint64]
# Where one block keeps the values of one integer column: order, width, first
# value, base, offset of the planes. There are five for every hundred samples,
# and a plain tuple is the quickest thing to make.
Part = tuple[int, int, int, int, int]


class Damaged(Exception):
    """A block whose checksum is right and whose content is not."""


class Decompressor:
    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._decompress = zstd.decompressor()

    def many(self, numbers: NDArray[np.int64]) -> list[bytes | None]:
        """The payloads of some blocks; None: it is not what its head promises."""
        heads, starts = self._blocks.heads[numbers], self._blocks.starts[numbers]
        ends = starts + heads["stored_size"]
        data, sizes = self._blocks.data, heads["raw_size"]
        if ((heads["codec"] == RAW) & (sizes == ends - starts) & (sizes <= MAX_RAW)).all():
            return [
                bytes(data[start:end])
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ]
        return [
            self._payload(*block)
            for block in zip(
                heads["codec"].tolist(),
                sizes.tolist(),
                starts.tolist(),
                ends.tolist(),
                strict=True,
            )
        ]

    def one(self, number: int) -> bytes:
        (raw,) = self.many(np.array([number]))
        if raw is None:
            raise Damaged
        return raw

    def _payload(self, codec: int, raw_size: int, start: int, end: int) -> bytes | None:
        if raw_size > MAX_RAW:
            return None
        stored = self._blocks.data[start:end]
        if codec == RAW:
            return bytes(stored) if raw_size == end - start else None
        if codec != ZSTD:
            return None
        try:
            # The frame's own word decides how much is allocated, so it is asked first.
            return self._decompress(stored) if zstd.content_size(stored) == raw_size else None
        except zstd.ZstdError:
            return None


def _finite(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(digits)
    return value


def _bounded(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**63:
        raise ValueError(digits)
    return value


_JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
# Its call per integer is only worth it where one could be too long.
_LONG_INTEGER = re.compile(rb"\d{19}")
_JSON_BOUNDED = json.JSONDecoder(parse_int=_bounded, parse_float=_finite, parse_constant=_finite)


def decode_json(raw: bytes) -> Any:
    """JSON without numbers that no column holds and surrogates that no output accepts."""
    decoder = _JSON_BOUNDED if _LONG_INTEGER.search(raw) else _JSON
    try:
        value = decoder.decode(raw.decode())
    except (ValueError, RecursionError):
        raise Damaged from None
    return _printable(value) if b"\\u" in raw else value


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {printable(key): _printable(item) for key, item in value.items()}
    return value


class TableDecoder:
    """Collects the blocks of one table, then decodes each wanted column at once.

    `columns` are those the file declares; the wanted ones are decoded, the others
    only stepped over.
    """

    def __init__(self, columns: list[Column], wanted: set[str]) -> None:
        self._numbers = [column.type in INTEGERS or column.type == FLOAT for column in columns]
        self._columns = columns
        self._wanted = [
            (place, column) for place, column in enumerate(columns) if column.name in wanted
        ]
        self._raw: list[bytes] = []
        self._size = 0
        self._rows: list[int] = []
        self._parts: dict[str, list[Part]] = {name: [] for name in wanted}
        self._lists: dict[str, list[Any]] = {name: [] for name in wanted}
        self._interned: dict[str, str] = {}
        self._planes: _Planes | None = None

    def add(self, raw: bytes, rows: int) -> None:
        """Takes a block or, raising Damaged, leaves everything as it was."""
        found: list[Any] = []
        position = 0
        for number in self._numbers:
            part, position = _parse_integers(raw, position, rows, self._size)
            if number:
                found.append(part)
            else:
                kind = self._columns[len(found)].type
                texts, position = self._parse_texts(raw, position, rows, part, kind)
                found.append(texts)
        if position != len(raw):
            raise Damaged
        for place, column in self._wanted:
            if self._numbers[place]:
                self._parts[column.name].append(found[place])
            else:
                self._lists[column.name] += found[place]
        self._raw.append(raw)
        self._size += len(raw)
        self._rows.append(rows)

    def integers(self, name: str) -> Integers:
        parts = self._parts[name]
        if not parts:
            return np.zeros(0, dtype=np.uint64)
        if len(parts) == 1:
            return _decode_one(self._raw[0], self._rows[0], parts[0])
        if self._planes is None:
            self._planes = _Planes(self._raw, self._rows)
        return self._planes.decode(parts)

    def floats(self, name: str) -> NDArray[np.float64]:
        return self.integers(name).view(np.float64)

    def texts(self, name: str) -> list[Any]:
        return self._lists[name]

    def _parse_texts(
        self, raw: bytes, position: int, rows: int, part: Part, kind: str
    ) -> tuple[list[Any], int]:
        values = _decode_one(raw, rows, (*part[:4], part[4] - self._size))
        # Python's integers: a sum of hostile ones must not wrap around.
        ends = list(accumulate(values.tolist(), initial=position))
        if ends[-1] > len(raw):
            raise Damaged
        try:
            texts = [raw[start:end].decode() for start, end in pairwise(ends)]
        except UnicodeDecodeError:
            raise Damaged from None
        if kind == TEXT:
            # Paths and runtimes repeat from block to block.
            return [self._interned.setdefault(text, text) for text in texts], ends[-1]
        return [_string_list(text) for text in texts], ends[-1]


def _string_list(text: str) -> list[str]:
    value = decode_json(text.encode())
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Damaged
    return value


def _parse_integers(raw: bytes, position: int, rows: int, before: int) -> tuple[Part, int]:
    """`before`: the bytes of the blocks before this one, which the offset counts in."""
    try:
        tag = raw[position]
        position += 1
        first = 0
        if tag >> 4 == DIFFERENCES:
            first, position = _parse_varint(raw, position)
        base, position = _parse_varint(raw, position)
    except IndexError:
        raise Damaged from None
    width = tag & 15
    end = position + rows * width
    if end > len(raw) or tag >> 4 > DIFFERENCES or width > 8:
        raise Damaged
    return (tag >> 4, width, first, base, before + position), end


def _parse_varint(raw: bytes, position: int) -> tuple[int, int]:
    value = raw[position]
    shift = 7
    if value >= 128:
        value &= 127
        while (byte := raw[position := position + 1]) >= 128 and shift < _VARINT_BITS:
            value |= (byte & 127) << shift
            shift += 7
        if byte >= 128:
            raise Damaged
        value |= byte << shift
    return (-((value + 1) >> 1) if value & 1 else value >> 1) & _MASK, position + 1


class _Planes:
    """The decompressed blocks of one table, and where their rows begin."""

    def __init__(self, blocks: list[bytes], rows: list[int]) -> None:
        self.data = np.frombuffer(b"".join(blocks), dtype=np.uint8)
        self.counts = np.array(rows, dtype=np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.stride = np.repeat(self.counts, self.counts)

    def decode(self, parts: list[Part]) -> Integers:
        """The values of one column, from all blocks at once."""
        counts = self.counts
        order, width, first, base, offset = zip(*parts, strict=True)
        values = np.repeat(np.array(base, dtype=np.uint64), counts)
        widths = np.array(width)
        if max(width):
            # The place of every row's lowest byte; the next plane is one row count on.
            places = np.arange(len(values)) + np.repeat(np.array(offset) - self.starts, counts)
            for plane in range(max(width)):
                shift = np.uint64(8 * plane)
                if (deep := widths > plane).all():
                    values += self.data[places].astype(np.uint64) << shift
                else:
                    rows = np.flatnonzero(np.repeat(deep, counts))
                    values[rows] += self.data[places[rows]].astype(np.uint64) << shift
                places += self.stride
        if DIFFERENCES not in order:
            return values
        differences = np.array(order) == DIFFERENCES
        firsts = np.array(first, dtype=np.uint64)
        values[self.starts[differences]] = firsts[differences]
        sums = np.cumsum(values, dtype=np.uint64)
        sums -= np.repeat(sums[self.starts] - firsts, counts)
        return np.where(np.repeat(differences, counts), sums, values)


def _decode_one(raw: bytes, rows: int, part: Part) -> Integers:
    """The values of one column of one block: what `_Planes` does, without its preparations."""
    order, width, first, base, offset = part
    values = np.full(rows, base, dtype=np.uint64)
    for plane in range(width):
        start = offset + plane * rows
        values += np.frombuffer(raw, np.uint8, rows, start).astype(np.uint64) << np.uint64(
            8 * plane
        )
    if order == DIFFERENCES:
        values[0] = first
        values = np.cumsum(values, dtype=np.uint64)
    return values
