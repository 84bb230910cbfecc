"""The first bytes of a file: what kind of file it is, and whether this reader can read it."""

from __future__ import annotations

from sonde.recording.format.framing import (
    FILE_HEAD_SIZE,
    HEAP_VERSION,
    MAGIC,
    NEWEST_VERSION,
    FileHead,
    RecordingError,
    unpack_file_head,
)


def check_any_head(data: bytes, path: str) -> FileHead:
    """The head of a recording or a heap snapshot; RecordingError says why it cannot be read."""
    size = FILE_HEAD_SIZE
    if not data:
        raise RecordingError(f"{path} is empty")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise RecordingError(f"{path} is not a sonde recording")
    if len(data) < size:
        raise RecordingError(f"{path} is cut off within its first {size} bytes and cannot be read")
    head = unpack_file_head(data)
    if head is None:
        raise RecordingError(f"{path} is damaged within its first {size} bytes and cannot be read")
    if head.version > NEWEST_VERSION:
        raise RecordingError(
            f"{path} was written by a newer sonde (format {head.version}); "
            f"this one reads up to {NEWEST_VERSION}; update sonde"
        )
    if head.version == 0:
        raise RecordingError(f"{path} has the invalid format 0")
    return head


def check_file_head(data: bytes, path: str) -> FileHead:
    """The head of a recording."""
    head = check_any_head(data, path)
    if head.version == HEAP_VERSION:
        raise RecordingError(
            f"{path} is a heap snapshot, not a recording; show it with: sonde report {path} heap"
        )
    return head
