"""Turning stacks into rows: functions and contexts, each written once per recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import bytecodes, linetable, shm

if TYPE_CHECKING:
    from sonde.recording.writer import Writer

BUILT_IN = "<built-in>"

# What stands for a stack that has no Python frame, and for frames that were left out.
NO_FRAMES = "[no Python frames]"
CUT_OFF = "[outer frames left out]"
SHORT_THREADS = "[threads too short to sample]"
UNKNOWN = "[code that was never described]"


class Contexts:
    """The calling context tree of a recording as it grows; shared by all its processes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._functions: dict[tuple[str, str, int, str], int] = {}
        self._contexts: dict[tuple[int, int, int], int] = {}
        self._types: dict[tuple[str, str], int] = {}
        self.shared_locks: dict[int, int] = {}
        """Rows of the locks between processes, by the inode of the memory they lie in."""

    def function(self, name: str, file: str, line: int, runtime: str) -> int:
        key = (name, file, line, runtime)
        row = self._functions.get(key)
        if row is None:
            row = self._functions[key] = self._writer.append("functions", *key)
        return row

    def context(self, parent: int, function: int, line: int) -> int:
        key = (parent, function, line)
        row = self._contexts.get(key)
        if row is None:
            row = self._contexts[key] = self._writer.append("contexts", parent, function, line)
        return row

    def type(self, name: str, runtime: str) -> int:
        key = (name, runtime)
        row = self._types.get(key)
        if row is None:
            row = self._types[key] = self._writer.append("types", *key)
        return row

    def standing_for(self, what: str, runtime: str) -> int:
        """The root context of a pseudo-function."""
        return self.context(-1, self.function(what, BUILT_IN, 0, runtime), 0)


class Codes:
    """What one process has told of its code, and the contexts its frame words led to."""

    def __init__(self, contexts: Contexts, runtime: str) -> None:
        self._contexts = contexts
        self._runtime = runtime
        self._functions: dict[int, int] = {}
        self._tables: dict[int, tuple[int, bytes, int] | list[int]] = {}
        self.children: dict[tuple[int, int], int] = {}

    def add(
        self, code: int, name: str, file: str, first_line: int, kind: int, table: bytes
    ) -> None:
        self._functions[code] = self._contexts.function(name, file, first_line, self._runtime)
        self._tables[code] = (kind, table, first_line)

    def add_native(self, code: int, name: str) -> None:
        self._functions[code] = self._contexts.function(name, BUILT_IN, 0, self._runtime)
        self._tables[code] = []

    def child(self, parent: int, word: int, instr_bits: int, instr_mask: int) -> int:
        """The context of frame `word` called from `parent`; KeyError while its code is unknown."""
        code = word >> instr_bits
        function = self._functions[code]
        table = self._tables[code]
        if isinstance(table, tuple):
            table = self._tables[code] = _lines(*table)
        # The word holds the index + 1; a frame that has not begun is at the first instruction.
        index = max((word & instr_mask) - 1, 0)
        line = table[index] if index < len(table) else 0
        row = self._contexts.context(parent, function, line)
        self.children[parent, word] = row
        return row


def _lines(kind: int, table: bytes, first_line: int) -> list[int]:
    """The line of every instruction, by its index."""
    if kind == shm.TABLE_BYTECODES:
        return bytecodes.lines(table)
    return linetable.lines(table, first_line)
