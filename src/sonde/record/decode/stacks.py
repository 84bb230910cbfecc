"""Stacks of one thread's records: each is what differs from the one before."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING

from sonde.row_values import NO_FRAMES

from ..shm import layout as shm
from ..shm.lock_drain import ThreadStack
from ..tables.stacks.contexts import CUT_OFF
from ..tables.stacks.live_profile import LiveThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from .process_tables import ProcessTables

_FRAMES: list[struct.Struct] = [struct.Struct(f"<{n}Q") for n in range(64)]


class BrokenStackError(Exception):
    """A stack record continues one that never came."""


class StackDecoder:
    """Frame words become contexts; `line` holds those that the next record may refer to."""

    def __init__(self, tables: ProcessTables) -> None:
        self._tables = tables
        self.line = ThreadStack()
        online = tables.online
        self._online = None if online is None else LiveThread(online, tables.sampling)

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """Contexts have other rows in a new segment."""
        self.line.put([remap(context) for context in self.line.contexts()])
        self.line.thread = -1

    def stack_of(
        self, at: int, keep: int, count: int, flags: int, header: int = shm.SAMPLE.size
    ) -> int:
        """The context of a stack record; leaves what the next one may refer to in self.line."""
        tables = self._tables
        line = self.line
        if flags & shm.UNDECODABLE:
            self.forget()
            return -1
        frames = _FRAMES[count] if count < 64 else struct.Struct(f"<{count}Q")
        words = frames.unpack_from(tables.memory, at + header)
        children = tables.codes.children
        if keep > line.known:
            raise BrokenStackError
        if self._online is not None and keep < self._online.unchanged:
            self._online.unchanged = keep
        depth = keep + count
        if depth > len(line.rows):
            line.make_room(depth)
        rows = line.rows
        if keep:
            context = rows[keep - 1]
        elif flags & shm.TRUNCATED:
            context = tables.pseudo_context(CUT_OFF)
        else:
            context = -1
        is_aside = flags & shm.DETACHED
        if is_aside:
            line.aside = rows = array("i", bytes(4 * count))
        for place, word in enumerate(reversed(words), 0 if is_aside else keep):
            row = children.get((context, word))
            if row is None:
                row = tables.codes.child(context, word)
            context = rows[place] = row
        line.depth = keep if is_aside else depth
        if not is_aside and (count or not keep):
            line.known = depth
        return context if depth else tables.pseudo_context(NO_FRAMES)

    def stack_apart(self, at: int, count: int, header: int) -> int:
        """The context of whole frames that no other record continues; -1: there are none."""
        tables = self._tables
        context = -1
        words = struct.unpack_from(f"<{count}Q", tables.memory, at + header)
        for word in reversed(words):
            row = tables.codes.children.get((context, word))
            context = tables.codes.child(context, word) if row is None else row
        return context

    def caller(self, keep: int, count: int, flags: int) -> int:
        """The context that the last stack's innermost frame was called from."""
        if count > 1 and flags & shm.DETACHED:
            return self.line.aside[count - 2]
        depth = keep + count
        return self.line.rows[depth - 2] if depth > 1 and not flags & shm.UNDECODABLE else -1

    def chain_of(self, at: int, count: int, flags: int, header: int) -> tuple[int, int]:
        """The link of a chained record's function to its caller, and the function's line."""
        tables = self._tables
        words = struct.unpack_from(f"<{count}Q", tables.memory, at + header)
        places = [tables.codes.place(word) for word in words[::2]]  # before anything is written
        chains = tables.contexts.chains
        nodes = [
            chains.node(function, depth)
            for (function, _), depth in zip(places, words[1::2], strict=True)
        ]
        link = -1
        for i in range(len(nodes) - 1, -1, -1):
            if i + 1 < len(nodes):
                link = chains.link(nodes[i], nodes[i + 1], places[i + 1][1])
            elif flags & shm.ROOT or len(nodes) == 1:
                link = chains.link(nodes[i], -1, 0)
        return link, places[0][1] if places else 0

    def sampled(self, flags: int, same: int, weight: int) -> None:
        """The last stack was a sample's."""
        if self._online is not None:
            self._online.unchanged = min(self._online.unchanged, self.line.changed())
            rows = self.line.rows[: self.line.depth]
            if flags & shm.DETACHED:
                rows += self.line.aside
            self._online.sample(rows, flags, same, weight)
            self._online.unchanged = self.line.depth

    def unknown(self, weight: int) -> None:
        """A sample whose stack cannot be decoded."""
        if self._online is not None:
            self._online.unknown(weight)

    def forget(self) -> None:
        self.line.forget()
        if self._online is not None:
            self._online.unchanged = 0
