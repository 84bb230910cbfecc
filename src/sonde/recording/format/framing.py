"""The bytes of a recording: file head, block head, checksums, limits.

docs/reference/format.md is the specification. Writer and reader share this file, so it
imports nothing that the recorder process would not have loaded anyway.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple
from zlib import crc32

from sonde.errors import SondeError

# Like PNG's: the high bit and both line endings make a file that went through
# a text conversion fail here and not somewhere inside.
MAGIC = b"\x89SONDE\r\n"
VERSION = 1
HEAP_VERSION = 2
"""Heap snapshots: the same heads and blocks, but columns instead of tables."""
NEWEST_VERSION = HEAP_VERSION

# The first 20 bytes keep this layout in every version, so that any reader can
# name the version of any file.
_FILE_HEAD = struct.Struct("<8sHHII")
FILE_HEAD_SIZE = _FILE_HEAD.size

MARKER = b"\xb5\x1fSo"
_BLOCK_HEAD = struct.Struct("<4sBBHQIIIII")
BLOCK_HEAD_SIZE = _BLOCK_HEAD.size
_BLOCK_HEAD_CHECKED = BLOCK_HEAD_SIZE - 4
# The CRC-32 of anything with its own CRC-32 behind it, from whatever value both start.
SEALED = 0x2144DF1C

SCHEMA = 1
ROWS = 2
UPDATES = 3
FACTS = 4
END = 5
# Of heap snapshots only.
CATALOG = 6
VALUES = 7

RAW = 0
ZSTD = 1

# Both bound what a hostile or broken file can make a reader allocate: a block
# cannot expand to more than this, however well it compresses.
MAX_ROWS = 256
MAX_RAW = 1 << 20
# A path has at most 4 KiB; what is longer is a generated name or an argument list.
MAX_TEXT = 1 << 16


class RecordingError(SondeError):
    """A file that cannot be read as a recording, and why."""


class FileHead(NamedTuple):
    version: int
    nonce: int
    """Start value of every checksum in the file: blocks of another one never pass."""


class BlockHead(NamedTuple):
    kind: int
    codec: int
    table: int
    first_row: int
    rows: int
    raw_size: int
    stored_size: int
    payload_crc: int


def pack_file_head(nonce: int, version: int = VERSION) -> bytes:
    head = _FILE_HEAD.pack(MAGIC, version, 0, nonce, 0)[:-4]
    return head + struct.pack("<I", crc32(head))


def unpack_file_head(data: bytes) -> FileHead | None:
    """None: the magic number is right but the rest does not match its checksum."""
    _magic, version, _reserved, nonce, crc = _FILE_HEAD.unpack_from(data)
    if crc32(data[: FILE_HEAD_SIZE - 4]) != crc:
        return None
    return FileHead(version, nonce)


def pack_block(
    nonce: int,
    kind: int,
    codec: int,
    payload: bytes,
    raw_size: int,
    *,
    table: int = 0,
    first_row: int = 0,
    rows: int = 0,
) -> bytes:
    head = _BLOCK_HEAD.pack(
        MARKER,
        kind,
        codec,
        table,
        first_row,
        rows,
        raw_size,
        len(payload),
        crc32(payload, nonce),
        0,
    )[:-4]
    return head + struct.pack("<I", crc32(head, nonce)) + payload


def unpack_block_head(nonce: int, data: bytes | memoryview, offset: int) -> BlockHead | None:
    """None: no block head stands there, or it is damaged."""
    if offset + BLOCK_HEAD_SIZE > len(data):
        return None
    fields = _BLOCK_HEAD.unpack_from(data, offset)
    if crc32(data[offset : offset + _BLOCK_HEAD_CHECKED], nonce) != fields[-1]:
        return None
    return BlockHead._make(fields[1:-1]) if fields[0] == MARKER else None


unpack_sizes = struct.Struct("<4s20xII4x").unpack
"""Of a packed block head the marker, the size of the stored payload and its checksum."""


def pack_json(value: Any) -> bytes:
    """JSON without spaces; a lone surrogate (an undecodable byte of a path) is spelt out."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return printable(text).encode()


def printable(text: str) -> str:
    """Text that every output encoding of Unicode accepts."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"<{ord(c):04x}>" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
