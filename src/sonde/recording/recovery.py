"""Finds the readable blocks of a file, whatever happened to it.

Three things happen to recordings. The end is torn, because recorder or machine
died or the disk was full: the rest is cut off. A block in the middle is damaged:
it is skipped, because a day's recording should not end at one flipped bit; row
numbers in the block heads tell what is missing. The file is hostile: every step
here moves forward and costs a constant or the bytes it moves over.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from sonde.recording.format import (
    BLOCK_HEAD_SIZE,
    END,
    FILE_HEAD_SIZE,
    MARKER,
    BlockHead,
    unpack_block_head,
)


class Block(NamedTuple):
    head: BlockHead
    payload: memoryview
    """As stored; its checksum is right."""


class Blocks(NamedTuple):
    found: list[Block]
    ended: bool
    """The recorder said that the recording is complete."""
    torn: int
    """Bytes cut off at the end."""
    damaged: int
    """Places in the middle where something was skipped."""


def find_blocks(data: bytes, nonce: int, offset: int = FILE_HEAD_SIZE) -> Blocks:
    """The blocks of a file's bytes, or of a part of them, from `offset` on."""
    view = memoryview(data)
    found: list[Block] = []
    damaged = 0
    good_until = offset
    while offset < len(data):
        head = unpack_block_head(nonce, view, offset)
        end = offset + BLOCK_HEAD_SIZE + head.stored_size if head is not None else 0
        if head is None or end > len(data):
            # Nothing here says how far to go; look for the next block that proves itself.
            offset = _next_head(data, view, nonce, offset + 1)
            continue
        payload = view[offset + BLOCK_HEAD_SIZE : end]
        if crc32(payload, nonce) == head.payload_crc:
            damaged += offset > good_until
            found.append(Block(head, payload))
            good_until = end
        offset = end
    ended = bool(found) and found[-1].head.kind == END
    torn = len(data) - good_until
    if ended and torn:
        # Behind the end block nothing belongs to the recording.
        damaged, torn = damaged + 1, 0
    return Blocks(found, ended, torn, damaged)


def _next_head(data: bytes, view: memoryview, nonce: int, offset: int) -> int:
    """Where the next intact block head stands, or the end of the data."""
    while (offset := data.find(MARKER, offset)) >= 0:
        head = unpack_block_head(nonce, view, offset)
        if head is not None and offset + BLOCK_HEAD_SIZE + head.stored_size <= len(data):
            return offset
        offset += 1
    return len(data)
