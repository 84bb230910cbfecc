"""Turning stacks into rows: functions and contexts, each written once per segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.row_values import BUILT_IN

from ...shm import layout as shm
from . import cpython_lines, java_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sonde.recording.write.writer import Writer

# What stands for frames that were left out.
CUT_OFF = "[outer frames left out]"
SHORT_THREADS = "[threads too short to sample]"
UNKNOWN = "[code that was never described]"


class Contexts:
    """The calling context tree of a recording as it grows; shared by all its processes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.tells_sizes = False
        """How long a function's code is, is wanted."""
        self._start_over()

    def _start_over(self) -> None:
        self._functions: dict[tuple[str, str, int, str], int] = {}
        self._contexts: dict[tuple[int, int, int], int] = {}
        # The same by row.
        self._function_of: list[tuple[str, str, int, str]] = []
        self._context_of: list[tuple[int, int, int]] = []
        self._types: dict[tuple[str, str], int] = {}
        self._sized: set[int] = set()
        self.chains = Chains(self._writer)
        self.shared_locks: dict[int, int] = {}
        """Rows of the locks between processes, by the inode of the memory they lie in."""

    @property
    def count(self) -> int:
        return len(self._context_of)

    @property
    def functions(self) -> int:
        """How many there are."""
        return len(self._function_of)

    @property
    def places(self) -> Sequence[tuple[int, int, int]]:
        """By row: the parent, the function and the line it stands at."""
        return self._context_of

    def described(self, function: int) -> tuple[str, str, int, str]:
        return self._function_of[function]

    def is_native(self, function: int) -> bool:
        return self._function_of[function][1] == BUILT_IN

    def function(self, name: str, file: str, line: int, runtime: str) -> int:
        key = (name, file, line, runtime)
        row = self._functions.get(key)
        if row is None:
            row = self._functions[key] = self._writer.append("functions", *key)
            self._function_of.append(key)
        return row

    def size(self, function: int, instructions: int) -> None:
        if self.tells_sizes and instructions and function not in self._sized:
            self._sized.add(function)
            self._writer.append("sizes", function, instructions)

    def context(self, parent: int, function: int, line: int) -> int:
        key = (parent, function, line)
        row = self._contexts.get(key)
        if row is None:
            row = self._contexts[key] = self._writer.append("contexts", parent, function, line)
            self._context_of.append(key)
        return row

    def type(self, name: str, runtime: str) -> int:
        key = (name, runtime)
        row = self._types.get(key)
        if row is None:
            row = self._types[key] = self._writer.append("types", *key)
        return row

    def pseudo_context(self, what: str, runtime: str) -> int:
        """The root context of a pseudo-function."""
        return self.context(-1, self.function(what, BUILT_IN, 0, runtime), 0)

    def chain(self, context: int) -> list[tuple[str, str, int, str]]:
        """The functions of a context, outermost first."""
        found = []
        while context >= 0:
            context, function, _ = self._context_of[context]
            found.append(self._function_of[function])
        return found[::-1]

    def start_segment(self) -> Callable[[int], int]:
        """Starts over, as a new segment does; the answer is where in it an old context stands.

        What nobody asks for again is forgotten: a session that lasts for weeks in a program whose
        code changes does not grow.
        """
        functions, contexts, chains = self._function_of, self._context_of, self.chains
        self._start_over()
        self.chains.repeat(chains, lambda function: self.function(*functions[function]))
        places = {-1: -1}

        def remap(context: int) -> int:
            above = []
            while context not in places:
                above.append(context)
                context = contexts[context][0]
            for row in reversed(above):
                parent, function, line = contexts[row]
                place = self.context(places[parent], self.function(*functions[function]), line)
                context = row
                places[row] = place
            return places[context]

        return remap


class Chains:
    """Functions at their depths, and who was seen to call whom; each written once."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._nodes: dict[tuple[int, int], int] = {}
        self._links: dict[tuple[int, int, int], int] = {}

    def node(self, function: int, depth: int) -> int:
        row = self._nodes.get((function, depth))
        if row is None:
            row = self._nodes[function, depth] = self._writer.append("chain_nodes", function, depth)
        return row

    def repeat(self, before: Chains, function: Callable[[int], int]) -> None:
        """Agents report who calls whom once; a new segment needs it, too."""
        nodes = [self.node(function(row), depth) for row, depth in before._nodes]
        nodes.append(-1)
        for node, caller, line in before._links:
            self.link(nodes[node], nodes[caller], line)

    def link(self, node: int, caller: int, line: int) -> int:
        """`caller` calls in that line; -1: nobody does, it is the outermost."""
        key = (node, caller, line)
        row = self._links.get(key)
        if row is None:
            row = self._links[key] = self._writer.append("links", *key)
        return row


class Codes:
    """What one process has reported of its code, and the contexts its frame words led to."""

    def __init__(self, contexts: Contexts, runtime: str) -> None:
        self._contexts = contexts
        self._runtime = runtime
        self._described: dict[int, tuple[str, str, int]] = {}
        self._tables: dict[int, tuple[int, bytes]] = {}
        self._lines: dict[int, list[int]] = {}
        self._at: dict[int, int] = {}
        self._dead: list[int] = []
        self._long_dead: list[int] = []
        self.children: dict[tuple[int, int], int] = {}
        self._code_of: dict[int, int] = {}
        self._starts: dict[int, list[int]] = {}
        self._starts_at: dict[int, list[int]] = {}
        """The same by context: asked for at every counted call."""

    def call_site(self, context: int, site: int) -> int:
        """The first instruction + 1 of the call that a frame is in; 0: unknown.

        The interpreter points into a call differently from hook to hook (3.11, 3.12).
        """
        starts = self._starts_at.get(context)
        if starts is None:
            starts = self._starts_at[context] = self._starts_of(self._code_of.get(context, -1))
        return starts[site - 1] + 1 if 0 < site <= len(starts) else site

    def _starts_of(self, code: int) -> list[int]:
        starts = self._starts.get(code)
        if starts is None:
            kind, table = self._tables.get(code, (shm.TABLE_BYTECODES, b""))
            starts = [] if kind == shm.TABLE_BYTECODES else cpython_lines.starts(table)
            self._starts[code] = starts
        return starts

    def add(
        self, code: int, name: str, file: str, first_line: int, kind: int, table: bytes
    ) -> None:
        self._add(code, (name, file, first_line))
        self._tables[code] = (kind, table)

    def add_native(self, code: int, name: str) -> None:
        self._add(code, (name, BUILT_IN, 0))

    def _add(self, code: int, what: tuple[str, str, int]) -> None:
        self._described[code] = what
        # The agent uses a place again only once the code that was there was freed. Which of the two
        # came later is in their numbers, not in the order in which rings are drained.
        place = code & shm.PLACE_MASK
        before = self._at.setdefault(place, code)
        if before == code:
            return
        later = ((code - before) >> shm.PLACE_BITS & shm.USES_MASK) < shm.USES_MASK >> 1
        self._dead.append(before if later else code)
        if later:
            self._at[place] = code

    def __contains__(self, code: int) -> bool:
        return code in self._described

    def function(self, code: int) -> int:
        """The row of a function; KeyError while its code is unknown."""
        name, file, first_line = self._described[code]
        return self._contexts.function(name, file, first_line, self._runtime)

    def place(self, word: int) -> tuple[int, int]:
        """The function and line of frame `word`; KeyError while its code is unknown."""
        code = word >> shm.INSTR_BITS
        name, file, first_line = self._described[code]
        lines = self._lines.get(code)
        if lines is None:
            table = self._tables.get(code)
            lines = [] if table is None else _lines(*table, first_line)
            self._lines[code] = lines
        # The word holds the index + 1; a frame that has not begun is at the first instruction.
        index = max((word & shm.INSTR_MASK) - 1, 0)
        function = self._contexts.function(name, file, first_line, self._runtime)
        self._contexts.size(function, len(lines))
        return function, lines[index] if index < len(lines) else 0

    def lines_of(self, code: int) -> tuple[int, list[int]] | None:
        """The function of a code object, and the line of each instruction; None: unknown."""
        if code not in self._described:
            return None
        function, _ = self.place(code << shm.INSTR_BITS)
        return function, self._lines.get(code, [])

    def child(self, parent: int, word: int) -> int:
        """The context of frame `word` called from `parent`; KeyError while its code is unknown."""
        function, line = self.place(word)
        row = self._contexts.context(parent, function, line)
        self.children[parent, word] = row
        if self._contexts.tells_sizes:  # calls are recorded
            self._code_of[row] = word >> shm.INSTR_BITS
            self._starts_at.pop(row, None)
        return row

    def start_segment(self) -> None:
        """Starts over with a new segment; what died before the last one is not heard of any more.

        Not before: another thread's ring may still hold a sample of it.
        """
        for code in self._long_dead:
            self._described.pop(code, None)
            self._tables.pop(code, None)
        self._long_dead, self._dead = self._dead, []
        self._lines.clear()
        self._starts.clear()
        self._starts_at.clear()
        self.children.clear()
        self._code_of.clear()


def _lines(kind: int, table: bytes, first_line: int) -> list[int]:
    """The line of every instruction, by its index."""
    if kind == shm.TABLE_BYTECODES:
        return java_lines.lines(table)
    return cpython_lines.lines(table, first_line)
