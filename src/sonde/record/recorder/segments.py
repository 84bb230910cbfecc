"""A session as it is written, segment by segment: when the next one begins, and where.

A segment stands for itself. Another one begins when its store asks for it, when somebody does, and
after a disk that was full has room again: whatever was not written may have been referred to.
"""

from __future__ import annotations

import contextlib
import os
import time
from itertools import chain
from typing import Any

from sonde.errors import SondeError
from sonde.recording.write.sink import MemorySink, WriteError
from sonde.recording.write.writer import Writer

from .options.segment_storage import (
    FlightRecording,
    NumberedFiles,
    numbered,
    numbered_path,
    prune,
    store_of,
    write_whole,
)

RETRY_NS = 1_000_000_000
# These are of one segment, and not said again in the next.
_OF_A_PART = ("duration_ns", "note", "dumped", "hot")


class Segments:
    def __init__(self, config: dict[str, Any], facts: dict[str, Any]) -> None:
        self._path: str = config["path"]
        self._mode: dict[str, Any] = config["mode"]
        session = config.get("session") or {"id": os.urandom(8).hex(), "part": 1}
        self._session: dict[str, Any] = session
        self.store = store_of(
            self._mode, self._path, append=session["part"] > 1, files=config.get("memory")
        )
        sink = self.store.next_sink()
        mode = {"mode": self._mode["name"]}
        self.writer = Writer(sink, {**facts, **mode, "session": dict(session)})
        self.store.took(sink)
        self._origin: int | None = None
        self.first_origin: int | None = None
        self._failed_at = self._retry_at = 0
        self.wanted = False
        """Somebody asked for the next segment."""
        self.count = 1
        self.refused: str | None = None
        """Why nothing can be written at the moment."""
        self.refusals = self.outage_ns = 0
        self.dumps: list[str] = []

    @property
    def path(self) -> str:
        """Where a reader finds what was written."""
        return self.writer.path or self._path

    @property
    def size(self) -> int:
        """Bytes that the file being written has, or what is kept in memory."""
        kept = self.store.kept if isinstance(self.store, FlightRecording) else 0
        return kept + self.writer.size

    def size_on_disk(self) -> int:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    @property
    def session(self) -> dict[str, Any]:
        return self._session

    def started(self, origin: int) -> None:
        """The first process came in: times count from here."""
        self._origin = self.first_origin = origin
        self._session = {**self._session, "clock_ns": origin}
        self.writer.target({"started": time.time(), "session": self._session})

    # ---- writing

    def flush(self) -> None:
        try:
            self.writer.flush()
        except WriteError as error:
            self._refuse(error)

    def _refuse(self, error: WriteError) -> None:
        if not error.may_pass:
            raise error
        if self.refused is None:
            self._failed_at = time.monotonic_ns()
            self._retry_at = self._failed_at + RETRY_NS
            self.refusals += 1
        self.refused = str(error)

    def full(self) -> bool:
        return self.store.full(self.writer.size)

    def due(self, now: int) -> bool:
        if self._origin is None:
            return False
        if self.refused is not None:
            return now >= self._retry_at
        return self.wanted or self.store.due(self.writer.size, now - self._origin)

    def begin(self, now: int) -> None:
        """Ends a segment at this moment and begins the next.

        Whether that can be written or not, rows are numbered again afterwards.
        """
        assert self._origin is not None
        self.wanted = False
        self._retry_at = now + RETRY_NS
        before = self.writer.sink
        facts = {k: v for k, v in self.writer.facts.items() if k not in _OF_A_PART}
        try:
            if self.refused is None:
                self.writer.end_part({"duration_ns": now - self._origin})
        except WriteError as error:  # it is cut off, but it can be read
            self._refuse(error)
        self.store.over(before, now)
        session = {**self._session, "part": self._session["part"] + 1, "clock_ns": now}
        try:
            sink = self.store.next_sink()
        except WriteError as error:
            self.writer.refuse(error)
            self._refuse(error)
            return
        try:
            self.writer.begin(sink, {**facts, "started": time.time(), "session": session})
        except WriteError as error:
            self.store.failed(sink)
            self._refuse(error)
            return
        self.store.took(sink)
        self._session, self._origin = session, now
        self.count += 1
        if self.refused is not None:
            self.outage_ns += now - self._failed_at
            self.refused = None

    def close(self, end: dict[str, Any]) -> None:
        """The last segment is complete."""
        try:
            self.writer.close(end)
        except WriteError as error:
            self._refuse(error)
        if self.refused is not None:
            self.outage_ns += time.monotonic_ns() - self._failed_at

    def discard(self) -> None:
        """There was nothing to record: what a recorder before us wrote stays."""
        if isinstance(self.writer.sink, MemorySink):
            return
        with contextlib.suppress(OSError):
            if self.writer.began_at:
                os.truncate(self.writer.path, self.writer.began_at)
            else:
                os.unlink(self.writer.path)

    def check_rotation(self) -> None:
        if not isinstance(self.store, NumberedFiles):
            raise SondeError(
                f"this recording has no segments: its mode is {self._mode['name']}; "
                "record with --mode continuous --rotate TIME"
            )

    # ---- what only a flight recorder does

    @property
    def flies(self) -> bool:
        return isinstance(self.store, FlightRecording)

    def check_dump(self) -> None:
        if not self.flies:
            raise SondeError(
                f"this recording is written to {self.path} and has no wrap buffer; "
                "record with --mode wrap"
            )

    def dump(self, path: str | None, why: str) -> str:
        """Writes what is in memory into a file, numbered if none is named."""
        store = self.store
        assert isinstance(store, FlightRecording)
        sink = self.writer.sink
        assert isinstance(sink, MemorySink)
        if not sink.closed:
            self.writer.target({"dumped": why})
            self.writer.flush()
        if path is None:
            last = max((number for number, _ in numbered(self._path)), default=0)
            path = numbered_path(self._path, last + 1)
        ending = [] if sink.closed else [self.writer.ending()]
        write_whole(path, chain(store.chunks(), sink.chunks, ending))
        self.dumps.append(path)
        prune(self._path, self._mode["keep"])
        return path

    def counts(self) -> dict[str, int]:
        """What it has to say for the session's quality."""
        counts: dict[str, int] = {}
        if self.refusals:
            now = time.monotonic_ns() - self._failed_at if self.refused is not None else 0
            counts |= {
                "disk_refused": self.refusals,
                "disk_refused_ns": self.outage_ns + now,
                "unwritten_samples": self.writer.unwritten.get("samples", 0),
                "unwritten_lock_events": self.writer.unwritten.get("lock_events", 0),
            }
        if isinstance(self.store, FlightRecording) and self.store.crowded_out:
            counts["forgotten_early"] = self.store.crowded_out
        return counts
