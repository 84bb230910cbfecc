"""The three places a session may be written to, one for each mode."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sonde.errors import SondeError
from sonde.recording.write.sink import FileSink, MemorySink, Sink

SUFFIX = ".sonde"
_NUMBERED = re.compile(r"\.(\d{4,})\.sonde\Z")
# A flight recorder forgets whole segments, so it holds up to this share more than was asked for.
SHARES = 4
# As many segments as are kept at a time, whether size or age ends them, and the one that grows.
FILES = 10


class SegmentStorage:
    """What all of them are asked, and how most answer."""

    def next_sink(self) -> Sink:
        """Where the next segment goes; an error if nothing can be written there now."""
        raise NotImplementedError

    def took(self, sink: Sink) -> None:
        """A segment has begun there."""

    def failed(self, sink: Sink) -> None:
        """Not even its beginning could be written."""

    def over(self, sink: Sink, end: int) -> None:
        """A segment is complete, or as far as it could be written; when, on the machine's clock."""

    def due(self, size: int, age: int) -> bool:  # noqa: ARG002
        """Whether a segment of so many bytes and nanoseconds is to be followed by another one."""
        return False

    def full(self, size: int) -> bool:  # noqa: ARG002
        """Whether the recording is to stop."""
        return False


class SingleFile(SegmentStorage):
    """normal: a file that grows, up to a limit."""

    def __init__(self, path: str, limit: int | None, append: bool) -> None:
        self._path = path
        self._limit = limit
        self._append = append
        self._sink: FileSink | None = None

    def next_sink(self) -> FileSink:
        if self._sink is not None and not self._sink.closed and _still_there(self._sink):
            return self._sink
        if self._sink is not None:
            self._sink.close()
        self._sink = FileSink(self._path, self._append or self._sink is not None)
        return self._sink

    def full(self, size: int) -> bool:
        return self._limit is not None and size >= self._limit


class NumberedFiles(SegmentStorage):
    """continuous: numbered files, of which the last ones are kept."""

    def __init__(
        self, path: str, rotate_bytes: int | None, rotate_ns: int | None, keep: int | None
    ) -> None:
        self._path = path
        self._bytes = rotate_bytes
        self._ns = rotate_ns
        self._keep = keep
        numbers = [number for number, _ in numbered(path)]
        # What an earlier session left is not written over; it only grows old with the rest.
        self._next = max(numbers, default=0) + 1

    def next_sink(self) -> FileSink:
        return FileSink(numbered_path(self._path, self._next))

    def took(self, sink: Sink) -> None:  # noqa: ARG002
        self._next += 1
        prune(self._path, self._keep)

    def failed(self, sink: Sink) -> None:
        self._leave(sink)
        # Room may only come from segments that are to go anyway.
        prune(self._path, self._keep)

    def over(self, sink: Sink, end: int) -> None:  # noqa: ARG002
        self._leave(sink)

    @staticmethod
    def _leave(sink: Sink) -> None:
        if not sink.size and not sink.closed:  # a disk without room for its first rows
            with contextlib.suppress(OSError):
                os.unlink(sink.path)
        sink.close()

    def due(self, size: int, age: int) -> bool:
        by_size = self._bytes is not None and size >= self._bytes
        return by_size or (self._ns is not None and age >= self._ns)


class _Kept(NamedTuple):
    sink: MemorySink
    end: int


class FlightRecording(SegmentStorage):
    """wrap: the last seconds, in memory."""

    def __init__(self, seconds_ns: int, memory: int, files: Sequence[int] | None = None) -> None:
        """`files`: of whoever started us, perhaps with what a recorder before us had kept."""
        self._seconds = seconds_ns
        self._memory = memory
        self._kept: deque[_Kept] = deque()
        self._free: list[int] = []
        for file in memory_files() if files is None else files:
            facts = os.fstat(file)
            if facts.st_size:
                end = time.monotonic_ns() - max(time.time_ns() - facts.st_mtime_ns, 0)
                self._kept.append(_Kept(MemorySink.found(file), end))
            else:
                self._free.append(file)
        self._kept = deque(sorted(self._kept, key=lambda segment: segment.end))
        self.crowded_out = 0
        """Parts forgotten before their time because there was no memory for them."""

    def next_sink(self) -> MemorySink:
        if not self._free:
            self._forget_oldest()
            self.crowded_out += 1
        return MemorySink(self._free.pop())

    def failed(self, sink: Sink) -> None:
        assert isinstance(sink, MemorySink)
        self._free.append(sink.file)

    def over(self, sink: Sink, end: int) -> None:
        assert isinstance(sink, MemorySink)
        sink.close()
        self._kept.append(_Kept(sink, end))
        self.forget(end)

    @property
    def kept(self) -> int:
        """Bytes of the segments that are complete."""
        return sum(segment.sink.size for segment in self._kept)

    def forget(self, now: int) -> None:
        while self._kept and self._kept[0].end < now - self._seconds:
            self._forget_oldest()
        # The segment that grows needs its share as well.
        room = self._memory - self._memory // SHARES
        while self.kept > room:
            self._forget_oldest()
            self.crowded_out += 1

    def _forget_oldest(self) -> None:
        sink = self._kept.popleft().sink
        sink.empty()
        self._free.append(sink.file)

    def due(self, size: int, age: int) -> bool:
        return age >= self._seconds // SHARES or size >= self._memory // SHARES

    def chunks(self) -> Iterator[bytes]:
        for segment in self._kept:
            yield from segment.sink.chunks


def memory_files() -> list[int]:
    """Where a flight recorder keeps its segments; whoever else has them open can read them, too."""
    return [os.memfd_create("sonde") for _ in range(FILES)]


def rescue(files: Sequence[int], path: str) -> bool:
    """Writes what a recorder that was killed had in memory; false if that was nothing."""
    segments = [MemorySink.found(file) for file in files]
    if not any(segment.size for segment in segments):
        return False
    write_whole(path, (chunk for segment in segments for chunk in segment.chunks))
    return True


def store_of(
    mode: dict[str, Any], path: str, append: bool, files: Sequence[int] | None = None
) -> SingleFile | NumberedFiles | FlightRecording:
    if mode["name"] == "continuous":
        return NumberedFiles(path, mode["rotate_bytes"], mode["rotate_ns"], mode["keep"])
    if mode["name"] == "wrap":
        return FlightRecording(mode["seconds_ns"], mode["memory"], files)
    return SingleFile(path, mode["limit"], append)


def write_whole(path: str, chunks: Iterable[bytes]) -> int:
    """A file that appears under its name with everything in it, or not at all."""
    partial = f"{path}.partial"
    sink: FileSink | None = None
    try:
        sink = FileSink(partial)
        for chunk in chunks:
            sink.write(chunk)
        sink.close()
        os.replace(partial, path)
    except (SondeError, OSError) as error:
        if sink is not None:
            sink.close()
        with contextlib.suppress(OSError):
            os.unlink(partial)
        why = str(error) if isinstance(error, SondeError) else error.strerror
        raise SondeError(f"could not write the last seconds: {why}") from None
    return sink.size


# ---- numbered files


def numbered_path(path: str, number: int) -> str:
    return f"{path.removesuffix(SUFFIX)}.{number:04d}{SUFFIX}"


def numbered(path: str) -> list[tuple[int, str]]:
    """The files of a series, in order."""
    found = []
    for name in glob.glob(f"{glob.escape(path.removesuffix(SUFFIX))}.*{SUFFIX}"):
        match = _NUMBERED.search(name)
        if match and name == numbered_path(path, int(match[1])):
            found.append((int(match[1]), name))
    return sorted(found)


def prune(path: str, keep: int | None) -> None:
    """Removes the oldest files of a series."""
    if keep is None:
        return
    for _, name in numbered(path)[:-keep]:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _still_there(sink: FileSink) -> bool:
    """Whether the file we write still bears its name; else it was moved away or deleted."""
    try:
        facts = os.stat(sink.path)
        return (facts.st_dev, facts.st_ino) == sink.identity()
    except OSError:
        return False
