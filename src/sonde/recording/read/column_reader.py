"""Reads a heap snapshot: its catalog at once, each column when it is asked for.

A graph with missing references would give wrong answers, so a damaged or incomplete file is
refused, unlike a recording.
"""

from __future__ import annotations

import json
import mmap
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from sonde.recording.format import zstd
from sonde.recording.format.column_blocks import TYPES, decode_values
from sonde.recording.format.framing import (
    BLOCK_HEAD_SIZE,
    CATALOG,
    END,
    FILE_HEAD_SIZE,
    HEAP_VERSION,
    MAX_RAW,
    RAW,
    VALUES,
    ZSTD,
    BlockHead,
    RecordingError,
    unpack_block_head,
)
from sonde.recording.read.file_head import check_any_head

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What a file may expand to. Objects that are alike take next to nothing: 4 million in less than
# one MiB were seen.
_BUDGET_FLOOR = 2 << 30
_BUDGET_A_BYTE = 512


class _Column(NamedTuple):
    number: int
    type: str
    rows: int


class _Block(NamedTuple):
    head: BlockHead
    start: int


def is_column_file(path: str) -> bool:
    """Whether a file begins like a heap snapshot."""
    with open(path, "rb") as file:
        data = file.read(FILE_HEAD_SIZE)
    try:
        return check_any_head(data, path).version == HEAP_VERSION
    except RecordingError:
        return False


class ColumnFile:
    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            head = check_any_head(file.read(FILE_HEAD_SIZE), path)
            if head.version != HEAP_VERSION:
                raise RecordingError(f"{path} is a recording, not a heap snapshot")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._view = memoryview(self._map)
        self._nonce = head.nonce
        self._decompress = zstd.decompressor()
        self._blocks: dict[int, list[_Block]] = {}
        catalog = self._find_blocks()
        self.facts: dict[str, Any] = {}
        self._columns: dict[str, _Column] = {}
        self._read_catalog(catalog)

    def rows(self, name: str) -> int:
        """How many values a column has; 0 if the file has no such column."""
        column = self._columns.get(name)
        return column.rows if column else 0

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str, type_: str) -> NDArray[Any]:
        """All values; none if the file has no such column."""
        column = self._columns.get(name)
        if column is None:
            return np.zeros(0, TYPES[type_])
        if column.type != type_:
            raise self._damaged(f"column {name} has the type {column.type}")
        values = np.empty(column.rows, TYPES[type_])
        done = 0
        for head, start in self._blocks.get(column.number, []):
            if head.first_row != done or done + head.rows > column.rows:
                raise self._damaged(f"column {name} has a gap")
            raw = self._payload(head, start)
            if not decode_values(raw, values[done : done + head.rows]):
                raise self._damaged(f"column {name} has an invalid block")
            done += head.rows
        if done != column.rows:
            raise self._damaged(f"column {name} is incomplete")
        return values

    def _find_blocks(self) -> _Block:
        at, size, catalog, ended = FILE_HEAD_SIZE, len(self._map), None, False
        budget = _BUDGET_FLOOR + _BUDGET_A_BYTE * size
        while not ended and at < size:
            head = unpack_block_head(self._nonce, self._view, at)
            start = at + BLOCK_HEAD_SIZE
            if head is None and start <= size:
                raise self._damaged(f"no block at byte {at:,}")
            if head is None or start + head.stored_size > size:
                break
            budget -= head.raw_size
            if budget < 0:
                raise RecordingError(f"{self.path} is not read: its compression is implausible")
            block = _Block(head, start)
            if head.kind == VALUES:
                self._blocks.setdefault(head.table, []).append(block)
            elif head.kind == CATALOG:
                catalog = block
            ended = head.kind == END
            at = start + head.stored_size
        if not ended:
            raise RecordingError(f"{self.path} is cut off: take the heap snapshot again")
        if catalog is None or at != size:
            raise self._damaged("its catalog is missing" if at == size else "it has no clear end")
        return catalog

    def _read_catalog(self, block: _Block) -> None:
        raw = self._payload(*block)
        try:
            catalog = json.loads(raw)
            self.facts = dict(catalog["facts"])
            for number, entry in enumerate(catalog["columns"]):
                name, type_, rows = str(entry["name"]), entry["type"], entry["rows"]
                if type_ in TYPES and type(rows) is int:
                    self._columns[name] = _Column(number, type_, rows)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._damaged("its catalog cannot be read") from None
        for name, column in self._columns.items():
            blocks = self._blocks.get(column.number, [])
            if column.rows != sum(head.rows for head, _ in blocks):
                raise self._damaged(f"column {name} is incomplete")
            width = int(column.type[1:])
            if any(head.raw_size != 1 + head.rows * width for head, _ in blocks):
                raise self._damaged(f"column {name} has an invalid block")

    def _payload(self, head: BlockHead, start: int) -> bytes:
        stored = self._view[start : start + head.stored_size]
        if crc32(stored, self._nonce) != head.payload_crc:
            raise self._damaged(f"the block at byte {start - BLOCK_HEAD_SIZE:,} has changed")
        if head.raw_size <= MAX_RAW and head.codec == RAW and len(stored) == head.raw_size:
            return bytes(stored)
        try:
            if (
                head.raw_size <= MAX_RAW
                and head.codec == ZSTD
                and zstd.content_size(stored) == head.raw_size
            ):
                return self._decompress(stored)
        except zstd.ZstdError:
            pass
        raise self._damaged(f"the block at byte {start - BLOCK_HEAD_SIZE:,} cannot be decompressed")

    def _damaged(self, why: str) -> RecordingError:
        return RecordingError(f"{self.path} is damaged: {why}; take the heap snapshot again")
