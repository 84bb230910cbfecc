"""The thread that writes one ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm import layout as shm

if TYPE_CHECKING:
    from ..tables.thread_time import ThreadTime
    from .process_tables import ProcessTables


class RingThread:
    def __init__(self, tables: ProcessTables, base: int, tid: int, claimed: int) -> None:
        self._tables = tables
        self._base = base
        self.tid = tid
        self.claimed = claimed
        """When it took the slot."""
        self.known: ThreadTime | None = None
        """What its records weigh, if any of them was about the thread."""

    @property
    def time(self) -> ThreadTime:
        """What this thread's records weigh; known to the process, because others may see it too."""
        if self.known is None:
            birth = shm.SLOT_FACTS.unpack_from(self._tables.memory, self._base)[4]
            threads = self._tables.threads
            self.known = threads.claimed(self.tid, self.claimed, birth or self.claimed)
        return self.known

    def learn_name(self) -> None:
        """After the records, because one of them may be the name itself."""
        if self.known is not None and not self.known.thread_object:
            self.known.set_thread_object(self.thread_object(), self.claimed)

    def thread_object(self) -> int:
        address: int = shm.SLOT_FACTS.unpack_from(self._tables.memory, self._base)[3]
        return address
