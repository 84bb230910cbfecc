"""Opens a recording as tables."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence

from sonde.recording.format.framing import FILE_HEAD_SIZE, RecordingError
from sonde.recording.read.assemble import assemble
from sonde.recording.read.file_head import check_file_head
from sonde.recording.read.recovery import find_blocks
from sonde.recording.segments.join import join
from sonde.recording.segments.standalone_segment import alone
from sonde.recording.tables import Recording

__all__ = [
    "RecordingError", "check_file_head", "files_of", "open_file", "read", "read_bytes",
    "read_parts",
]  # fmt: skip


def read(path: str | os.PathLike[str], *, samples: bool = True) -> Recording:
    """The recording in a file, or in the parts that a folder holds or a pattern names.

    RecordingError says in one sentence why there is none. `samples` False: samples are left out
    where a part is whole and states their totals.
    """
    name = os.fspath(path)
    files = files_of(name)
    if files != [name]:
        return read_parts([name], samples=samples)
    return read_bytes(_bytes(name), name, samples=samples)


def _bytes(name: str) -> bytes:
    descriptor = open_file(name)
    try:
        with open(descriptor, "rb", closefd=False) as file:
            # The head first: a disk image given by mistake is not read to its end.
            check_file_head(file.read(FILE_HEAD_SIZE), name)
            file.seek(0)
            return file.read()
    except OSError as error:
        raise RecordingError(f"cannot read {name}: {error.strerror}") from None
    except MemoryError:
        raise RecordingError(f"{name} is too large for this machine's memory") from None
    finally:
        os.close(descriptor)


def open_file(name: str) -> int:
    """A descriptor of a file that may be a recording."""
    try:
        # Opening a pipe would wait for somebody to write into it.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RecordingError(f"{name or 'a file without a name'} does not exist") from None
    except PermissionError:
        raise RecordingError(
            f"cannot read {name}: permission denied; read it as the user who recorded it"
        ) from None
    except OSError as error:
        raise RecordingError(f"cannot open {name}: {error.strerror}") from None
    except ValueError:
        raise RecordingError(
            f"cannot open {name!r}: a file name cannot contain a null character"
        ) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise RecordingError(f"{name} is a directory, not a recording")
    raise RecordingError(f"{name} is not a regular file")


def read_bytes(data: bytes, path: str = "<memory>", *, samples: bool = True) -> Recording:
    """The recording in these bytes; `path` is what messages call it."""
    return _one(_parts(data, path, samples), path)


def read_parts(paths: Sequence[str | os.PathLike[str]], *, samples: bool = True) -> Recording:
    """One recording of the parts in several files, folders or patterns."""
    files = [file for path in paths for file in files_of(os.fspath(path))]
    names = [os.fspath(path) for path in paths]
    shown = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    different = dict.fromkeys(files)
    parts = [part for file in different for part in _parts(_bytes(file), file, samples)]
    return _one(parts, shown)


def files_of(name: str) -> list[str]:
    """What a name stands for: itself, the recordings in a folder, or what a pattern matches."""
    if os.path.isdir(name):
        found = sorted(glob.glob(os.path.join(glob.escape(name), "*.sonde")))
        if not found:
            raise RecordingError(f"directory {name} has no recordings")
        return found
    if glob.has_magic(name) and not os.path.exists(name):
        found = sorted(glob.glob(name))
        if not found:
            raise RecordingError(f"no file matches {name}")
        return found
    return [name]


def _one(parts: list[Recording], path: str) -> Recording:
    return alone(parts[0]) if len(parts) == 1 else join(parts, path)


def _parts(data: bytes, path: str, samples: bool) -> list[Recording]:
    """A file holds one part, or several behind one another."""
    parts: list[Recording] = []
    start = 0
    try:
        while start < len(data) or not parts:
            head = check_file_head(data[start : start + FILE_HEAD_SIZE], path)
            blocks = find_blocks(data, head.nonce, start + FILE_HEAD_SIZE)
            parts.append(assemble(blocks, blocks.end - start, path, samples))
            start = blocks.end
    except MemoryError:
        raise RecordingError(f"{path} is too large for this machine's memory") from None
    return parts
