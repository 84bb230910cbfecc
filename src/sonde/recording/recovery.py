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
    MAGIC,
    MARKER,
    BlockHead,
    unpack_block_head,
    unpack_file_head,
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
    end: int = 0
    """Where it ends: at the end of the data, or at the file head of the next part."""


def find_blocks(data: bytes, nonce: int, offset: int = FILE_HEAD_SIZE) -> Blocks:
    """The blocks of a file's bytes, or of a part of them, from `offset` on."""
    view = memoryview(data)
    found: list[Block] = []
    damaged = 0
    good_until = offset
    # Where another part begins, looked for only where blocks end: inside one it is text.
    part = -1
    while offset < len(data):
        head = unpack_block_head(nonce, data, offset)
        end = offset + BLOCK_HEAD_SIZE + head.stored_size if head is not None else 0
        whole = head is not None and end <= len(data)
        if head is not None and whole:
            payload = view[offset + BLOCK_HEAD_SIZE : end]
            if crc32(payload, nonce) == head.payload_crc:
                damaged += offset > good_until
                found.append(Block(head, payload))
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
    until = min(offset, len(data))
    ended = bool(found) and found[-1].head.kind == END
    torn = until - good_until
    if ended and torn:
        # Behind the end block nothing belongs to the recording.
        damaged, torn = damaged + 1, 0
    return Blocks(found, ended, torn, damaged, until)


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
