"""Finds the readable blocks of a file, whatever happened to it.

Three things happen to recordings. The end is torn, because recorder or machine
died or the disk was full: the rest is cut off. A block in the middle is damaged:
it is skipped, because a day's recording should not end at one flipped bit; row
numbers in the block heads show what is missing. The file is hostile: every step
here moves forward and costs a constant or the bytes it moves over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format.framing import (
    BLOCK_HEAD_SIZE,
    END,
    FILE_HEAD_SIZE,
    MAGIC,
    MARKER,
    SEALED,
    BlockHead,
    unpack_block_head,
    unpack_file_head,
    unpack_sizes,
)

Rows = NDArray[np.int64]

HEAD = np.dtype(
    [
        ("marker", "S4"),
        ("kind", "u1"),
        ("codec", "u1"),
        ("table", "<u2"),
        ("first_row", "<u8"),
        ("rows", "<u4"),
        ("raw_size", "<u4"),
        ("stored_size", "<u4"),
        ("payload_crc", "<u4"),
        ("head_crc", "<u4"),
    ]
)
"""A block head as it lies in the file."""


class Block(NamedTuple):
    head: BlockHead
    payload: memoryview
    """As stored; its checksum is right."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a part. A long recording has hundreds of thousands, so they are no objects."""

    data: memoryview
    heads: NDArray[np.void]
    """One `HEAD` for each block."""
    starts: Rows
    """Where in `data` each payload begins."""
    ended: bool
    """The recorder said that the recording is complete."""
    torn: int
    """Bytes cut off at the end."""
    damaged: int
    """Places in the middle where something was skipped."""
    end: int = 0
    """Where it ends: at the end of the data, or at the file head of the next part."""

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> Block:
        head = BlockHead._make(self.heads[number].item()[1:-1])
        start = int(self.starts[number])
        return Block(head, self.data[start : start + head.stored_size])

    def of_kind(self, kind: int) -> Rows:
        """The numbers of the blocks of one kind."""
        return np.flatnonzero(self.heads["kind"] == kind)

    def only(self, keep: NDArray[np.bool_]) -> Blocks:
        return replace(self, heads=self.heads[keep], starts=self.starts[keep])


NO_BLOCKS = Blocks(memoryview(b""), np.zeros(0, HEAD), np.zeros(0, np.int64), False, 0, 0)


def find_blocks(data: bytes, nonce: int, offset: int = FILE_HEAD_SIZE) -> Blocks:
    """The blocks of a file's bytes, or of a part of them, from `offset` on."""
    view, size = memoryview(data), len(data)
    heads: list[bytes] = []
    starts: list[int] = []
    damaged = 0
    good_until = offset
    # Where another part begins, looked for only where blocks end: inside one it is text.
    part = -1
    while offset < size:
        start = offset + BLOCK_HEAD_SIZE
        packed = data[offset:start]
        whole = False
        if crc32(packed, nonce) == SEALED:
            marker, stored_size, payload_crc = unpack_sizes(packed)
            end = start + stored_size
            whole = end <= size and marker == MARKER
            if whole and crc32(view[start:end], nonce) == payload_crc:
                if offset > good_until:
                    damaged += 1
                heads.append(packed)
                starts.append(start)
                good_until = offset = end
                continue
        if part < offset:
            part = _next_part(data, view, offset)
        if whole and end <= part:
            offset = end
            continue
        # Nothing here says how far to go; look for the next block that proves itself.
        offset = _next_head(data, view, nonce, offset + 1, part)
        if offset >= part:
            break
    until = min(offset, size)
    found = np.frombuffer(b"".join(heads), dtype=HEAD)
    ended = len(found) > 0 and int(found["kind"][-1]) == END
    torn = until - good_until
    if ended and torn:
        # Behind the end block nothing belongs to the recording.
        damaged, torn = damaged + 1, 0
    return Blocks(view, found, np.array(starts, dtype=np.int64), ended, torn, damaged, until)


def _next_head(data: bytes, view: memoryview, nonce: int, offset: int, limit: int) -> int:
    """Where the next intact block head before `limit` stands, or else that."""
    while 0 <= (offset := data.find(MARKER, offset, limit + len(MARKER) - 1)) < limit:
        head = unpack_block_head(nonce, view, offset)
        if head is not None and offset + BLOCK_HEAD_SIZE + head.stored_size <= len(data):
            return offset
        offset += 1
    return limit


def _next_part(data: bytes, view: memoryview, offset: int) -> int:
    """Where the next intact file head stands, or the end of the data."""
    while (offset := data.find(MAGIC, offset)) >= 0:
        head = bytes(view[offset : offset + FILE_HEAD_SIZE])
        if len(head) == FILE_HEAD_SIZE and unpack_file_head(head) is not None:
            return offset
        offset += 1
    return len(data)
