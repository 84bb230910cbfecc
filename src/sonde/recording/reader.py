"""Opens a recording as tables."""

from __future__ import annotations

import os
import stat

from sonde.recording.assemble import assemble
from sonde.recording.format import (
    FILE_HEAD_SIZE,
    MAGIC,
    VERSION,
    FileHead,
    RecordingError,
    unpack_file_head,
)
from sonde.recording.recovery import find_blocks
from sonde.recording.tables import Recording

__all__ = ["RecordingError", "check_file_head", "open_file", "read", "read_bytes"]


def read(path: str | os.PathLike[str]) -> Recording:
    """The recording in a file; RecordingError says in one sentence why there is none."""
    name = os.fspath(path)
    descriptor = open_file(name)
    try:
        with open(descriptor, "rb", closefd=False) as file:
            # The head first: a disk image given by mistake is not read to its end.
            data = file.read(FILE_HEAD_SIZE)
            check_file_head(data, name)
            data += file.read()
    except OSError as error:
        raise RecordingError(f"cannot read {name}: {error.strerror}") from None
    except MemoryError:
        raise RecordingError(f"{name} is too large for this machine's memory") from None
    finally:
        os.close(descriptor)
    return read_bytes(data, name)


def open_file(name: str) -> int:
    """A descriptor of a file that may be a recording."""
    try:
        # Opening a pipe would wait for somebody to write into it.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RecordingError(f"{name} does not exist") from None
    except PermissionError:
        raise RecordingError(
            f"{name} may not be read by this user: a recording belongs to whoever recorded it"
        ) from None
    except OSError as error:
        raise RecordingError(f"cannot open {name}: {error.strerror}") from None
    except ValueError:
        raise RecordingError(f"cannot open {name!r}: a name holds no null character") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise RecordingError(f"{name} is a directory, not a recording")
    raise RecordingError(f"{name} is not a regular file")


def read_bytes(data: bytes, path: str = "<memory>") -> Recording:
    """The recording in these bytes; `path` is what messages call it."""
    head = check_file_head(data, path)
    try:
        return assemble(find_blocks(data, head.nonce), len(data), path)
    except MemoryError:
        raise RecordingError(f"{path} is too large for this machine's memory") from None


def check_file_head(data: bytes, path: str) -> FileHead:
    """The head of a file that this reader can read; RecordingError says why it cannot."""
    size = FILE_HEAD_SIZE
    if not data:
        raise RecordingError(f"{path} is empty")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise RecordingError(f"{path} is not a sonde recording")
    if len(data) < size:
        raise RecordingError(
            f"{path} is cut off within its first {size} bytes; nothing in it is readable"
        )
    head = unpack_file_head(data)
    if head is None:
        raise RecordingError(
            f"{path} is damaged within its first {size} bytes; nothing in it is readable"
        )
    if head.version > VERSION:
        raise RecordingError(
            f"{path} was written by a newer sonde (format {head.version}); "
            f"this one reads up to {VERSION}"
        )
    if head.version == 0:
        raise RecordingError(f"{path} has format 0, which never was")
    return head
