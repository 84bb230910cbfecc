"""The locks of one process: a row for each, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm import layout as shm
from ..system.procfs import inode_at

if TYPE_CHECKING:
    from .segment import ProcessSegment
    from .stacks.contexts import Contexts


class Locks:
    def __init__(self, segment: ProcessSegment, contexts: Contexts) -> None:
        self._segment = segment
        self._contexts = contexts
        self._rows: dict[tuple[int, int], int] = {}
        self._untyped: set[tuple[int, int]] = set()
        """Of which nobody has reported the type yet."""

    def row(self, address: int, kind: int, type_: str = "") -> int:
        key = (address, kind)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._new(address, kind, type_)
            if not type_:
                self._untyped.add(key)
        elif type_ and key in self._untyped:  # the release was drained before the wait
            self._untyped.remove(key)
            self._segment.writer.update("locks", row, type=type_)
        return row

    def has_type(self, address: int, kind: int) -> bool:
        return (address, kind) not in self._untyped

    def start_segment(self) -> None:
        """All rows are new ones."""
        self._rows.clear()
        self._untyped.clear()

    def _new(self, address: int, kind: int, type_: str) -> int:
        segment = self._segment
        made_of = shm.MADE_OF[kind] if kind < len(shm.MADE_OF) else ""
        if kind >= shm.KIND_MONITOR:
            address &= 0xFFFFFFFF  # the identity hash; above it is what distinguishes uses of it
        if made_of != "shared":
            return segment.writer.append("locks", segment.row, address, made_of, type_)
        # Each process has it mapped elsewhere; the file behind it is the same.
        inode = inode_at(segment.pid, address) or address
        row = self._contexts.shared_locks.get(inode)
        if row is None:
            row = segment.writer.append("locks", segment.row, inode, made_of)
            self._contexts.shared_locks[inode] = row
        return row
