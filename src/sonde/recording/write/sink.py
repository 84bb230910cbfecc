"""Where the bytes of a recording go: a file, or memory.

Either only grows, but for a write that failed: what of it was written is taken off again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import stat
from collections.abc import Callable, Iterator

from sonde.errors import SondeError

# What may pass: somebody makes room, raises a quota, mounts the file system for writing again.
_MAY_PASS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENOENT, errno.EMFILE}
)

_CHUNK = 1 << 20

# Room that stays free behind what is written: a recording whose disk is full still says at its end
# what it lost.
RESERVE = 32 << 10
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE


@functools.cache
def _fallocate() -> Callable[[int, int, int], int]:
    """Sets blocks aside behind the end of a file: 0 or an errno."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]

    def allocate(file: int, at: int, size: int) -> int:
        failed = libc.fallocate(file, _KEEP_SIZE, at, size)
        return ctypes.get_errno() if failed else 0

    return allocate


class WriteError(SondeError):
    """Bytes that did not fit; the ones before stay readable."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.may_pass = number in _MAY_PASS


class FileSink:
    """A file that is ours alone while we write it; `append` keeps what stands in it."""

    def __init__(self, path: str | os.PathLike[str], append: bool = False) -> None:
        self.path = os.fspath(path)
        self.size = 0
        self._append = append
        self._reserve = RESERVE
        self._file = self._open()

    def write(self, data: bytes) -> None:
        written = 0
        try:
            self._make_room(len(data))
            while written < len(data):
                written += os.write(self._file, data[written:] if written else data)
        except OSError as error:
            self.cut_back(self.size)
            kept = f"; the {self.size:,} bytes written before remain readable" if self.size else ""
            raise WriteError(
                f"cannot write {self.path or 'to memory'}: {error.strerror}{kept}",
                error.errno,
            ) from None
        self.size += len(data)

    def _make_room(self, size: int) -> None:
        """Raises an OSError if the file system has no room for so many bytes and the reserve."""
        if not self._reserve:
            return
        number = _fallocate()(self._file, self.size, size + self._reserve)
        if number in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(number, os.strerror(number))
        if number:
            self._reserve = 0  # a pipe, a device, or a file system that cannot

    def spend_reserve(self) -> None:
        """From now on writes may use the room that was kept free."""
        self._reserve = 0

    def cut_back(self, size: int) -> None:
        """Removes what came after; the reader would leave it out anyway."""
        with contextlib.suppress(OSError):
            if os.fstat(self._file).st_size == size == self.size:
                return  # truncating would give the reserve back
            os.ftruncate(self._file, size)
            # Only a device has no end; there is nothing to go back to either.
            os.lseek(self._file, size, os.SEEK_SET)
            self.size = size

    def close(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.fstat(self._file).st_mode):
                    os.ftruncate(self._file, self.size)  # gives the reserve back
            os.close(self._file)
            self._file = -1

    @property
    def closed(self) -> bool:
        return self._file < 0

    def identity(self) -> tuple[int, int]:
        """Which file it is, whatever it is called by now."""
        facts = os.fstat(self._file)
        return facts.st_dev, facts.st_ino

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise WriteError(f"cannot write {self.path}: {error.strerror}", error.errno) from None
        except ValueError:
            raise SondeError(
                f"cannot write {self.path!r}: a file name cannot contain a null character"
            ) from None
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                self._take(file)
        except BaseException:
            os.close(file)
            raise
        return file

    def _take(self, file: int) -> None:
        """Makes the file ours alone: emptied or at its end, and readable by nobody else."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SondeError(f"cannot write {self.path}: another recorder is writing it") from None
        except OSError:
            pass  # A file system without locks; the lock only guards against a mistake.
        try:
            os.fchmod(file, 0o600)
            if self._append:
                self.size = os.lseek(file, 0, os.SEEK_END)
            else:
                os.ftruncate(file, 0)
        except OSError as error:
            raise SondeError(f"cannot write {self.path}: {error.strerror}") from None


class MemorySink(FileSink):
    """The same in a file without a name, which lives as long as anybody has it open."""

    def __init__(self, file: int | None = None) -> None:
        self.path = ""
        self.size = self._reserve = 0
        self.file = self._file = os.memfd_create("sonde") if file is None else file
        self._closed = False
        self.empty()

    @classmethod
    def found(cls, file: int) -> MemorySink:
        """What somebody else has written into such a file."""
        sink = cls.__new__(cls)
        sink.path = ""
        sink.file = sink._file = file
        sink.size = os.fstat(file).st_size
        sink._reserve = 0
        sink._closed = True
        return sink

    def empty(self) -> None:
        self.cut_back(0)

    @property
    def chunks(self) -> Iterator[bytes]:
        at = 0
        while chunk := os.pread(self.file, _CHUNK, at):
            yield chunk
            at += len(chunk)

    def close(self) -> None:
        """Nothing more is written; the bytes stay."""
        self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed


Sink = FileSink | MemorySink
