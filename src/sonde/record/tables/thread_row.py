"""One thread of a process: who it is, what it is called, and its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .segment import ProcessSegment
    from .thread_names import ThreadNames

# What the agent says of a thread that was not started by the threading module.
NO_THREAD_OBJECT = 1


class ThreadRow:
    def __init__(
        self, segment: ProcessSegment, names: ThreadNames, tid: int, born: int, number: int
    ) -> None:
        self._segment = segment
        self._names = names
        self.tid = tid
        self.number = number
        """Distinguishes it from all others that ever had its id."""
        self.is_listed = False
        """It lives as far as is known, and has rows in every segment."""
        self.ended_at = 0
        """When it was seen to have ended."""
        self.rows: dict[int, int] = {}
        """Its rows in the table of threads, by interpreter."""
        self.thread_object = self._seen_at = 0
        self.born = born
        self.last_time = born
        self._unnamed: tuple[int, int] | None = None

    def set_thread_object(self, thread_object: int, at: int) -> None:
        """Sets which threading.Thread this was at that time, known or not by now."""
        if self.thread_object or not thread_object:
            return
        if thread_object != NO_THREAD_OBJECT and thread_object not in self._names:
            self._unnamed = (thread_object, at)  # its name lies in another ring, or comes later
            return
        self.thread_object, self._seen_at = thread_object, at
        name = self._names.of(self.tid, thread_object, at)
        for row in self.rows.values():
            self._segment.writer.update("threads", row, name=name)

    def row(self, interpreter: int) -> int:
        """Its row in the table of threads; a thread that runs two interpreters has two."""
        known = self.rows.get(interpreter)
        if known is not None:
            return known
        segment = self._segment
        start = max(self.born - segment.origin, 0)
        name = self._names.of(self.tid, self.thread_object, self._seen_at)
        # Of a thread that ended before the segment only its identity is of interest here.
        end, cpu = (max(self.last_time - segment.origin, 0), 0) if self.ended_at else (-1, -1)
        row = segment.writer.append(
            "threads", segment.row, self.tid, name, interpreter, start, end, cpu, self.number
        )
        self.rows[interpreter] = row
        return row
