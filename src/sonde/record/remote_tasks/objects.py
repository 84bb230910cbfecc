"""Objects of another process: what is read may change meanwhile, and so may be anything."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tables.stacks import cpython_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layout import Layout

_WORD = 8
_MAX_TEXT = 1024
_MAX_TABLE = 1 << 20
_MAX_ITEMS = 1 << 17
_MAX_BASES = 32
_ADDRESSES = range(1 << 12, 1 << 47)
# The word before an object where it keeps its dict or its attributes (3.12 and later).
_MANAGED = 3 * _WORD


class Unreadable(Exception):
    """An address that is none, or an object that is not what it should be."""


@dataclass(frozen=True)
class Code:
    name: str
    file: str
    first_line: int
    lines: list[int]
    """Of each instruction."""
    locals: int
    """How many places of a frame are for local variables; its stack of values follows."""
    stack: int
    start: int
    """The address of its first instruction."""


class Objects:
    """Reads the objects of one process."""

    def __init__(self, pid: int, layout: Layout) -> None:
        self.layout = layout
        self._memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        self._type_names: dict[int, str] = {}
        self._codes: dict[int, Code] = {}

    def close(self) -> None:
        os.close(self._memory)

    # ---- memory

    def read(self, address: int, size: int) -> bytes:
        if address not in _ADDRESSES:
            raise Unreadable
        try:
            found = os.pread(self._memory, size, address)
        except OSError as error:
            raise Unreadable from error
        if len(found) != size:
            raise Unreadable
        return found

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", self.read(address, count * _WORD))

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, _WORD), "little")

    def int32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little", signed=True)

    # ---- what an object is

    def type_of(self, address: int) -> int:
        return self.word(address + _WORD)

    def type_name(self, address: int) -> str:
        """As the type itself has it: with a module only if C code defined it."""
        return self._name(self.type_of(address))

    def _name(self, of_type: int) -> str:
        name = self._type_names.get(of_type)
        if name is None:
            name = self._c_string(self.word(of_type + self.layout.type_name))
            self._type_names[of_type] = name
        return name

    def is_a(self, address: int, name: str) -> bool:
        """Whether its type, or one that this inherits from first, has the name."""
        at = self.type_of(address)
        for _ in range(_MAX_BASES):
            if self._name(at) == name:
                return True
            at = self.word(at + self.layout.type_base)
            if not at:
                break
        return False

    def is_a_safely(self, address: int, name: str) -> bool:
        try:
            return self.is_a(address, name)
        except Unreadable:
            return False

    def _c_string(self, address: int) -> str:
        found = b""
        while len(found) < 256:
            found += self.read(address + len(found), 16)
            if b"\0" in found:
                return found.partition(b"\0")[0].decode("utf-8", "replace")
        raise Unreadable

    # ---- what it holds

    def text(self, address: int) -> str:
        layout = self.layout
        state = int.from_bytes(self.read(address + layout.text_state, 4), "little")
        length = min(self.word(address + layout.text_length), _MAX_TEXT)
        if state & layout.text_ascii:
            return self.read(address + layout.ascii_size, length).decode("ascii", "replace")
        kind = (state & layout.text_kind) // (layout.text_kind & -layout.text_kind)
        coding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}.get(kind)
        if coding is None:
            raise Unreadable
        data = self.read(address + layout.compact_size, length * kind)
        return data.decode(coding, "replace")

    def number(self, address: int) -> int:
        """Of a positive integer below 2**60: its digits have 30 bits."""
        count = self.words(address + 2 * _WORD, 1)[0] >> 3  # lv_tag, 3.12 and later
        if not 0 < count <= 2:
            raise Unreadable
        digits = struct.unpack(f"<{count}I", self.read(address + 3 * _WORD, 4 * count))
        return sum(digit << 30 * place for place, digit in enumerate(digits))

    def dict_items(self, address: int) -> Iterator[tuple[int, int]]:
        """The addresses of keys and values of a dict that has its own keys."""
        if self.word(address + self.layout.dict_values):
            raise Unreadable  # it shares them
        yield from (
            (key, value)
            for key, value in self._entries(self.word(address + self.layout.dict_keys))
            if value
        )

    def _entries(self, keys: int) -> list[tuple[int, int]]:
        layout = self.layout
        index_bytes = self.read(keys + layout.keys_index_bytes, 1)[0]
        unicode = self.read(keys + layout.keys_kind, 1)[0] != 0
        count = self.word(keys + layout.keys_count)
        if index_bytes > 40 or count > _MAX_ITEMS:
            raise Unreadable
        size = 2 if unicode else 3
        first = keys + layout.keys_indices + (1 << index_bytes)
        found = self.words(first, count * size)
        return [found[i : i + 2] for i in range(size - 2, len(found), size)]  # type: ignore[misc]

    def in_dict(self, address: int, name: str) -> int:
        """The value of a key that is a text; 0: there is none."""
        for key, value in self.dict_items(address):
            if self.type_name(key) == "str" and self.text(key) == name:
                return value
        return 0

    def set_items(self, address: int) -> list[int]:
        """The addresses in its table, those of removed ones included."""
        size = self.word(address + self.layout.set_mask) + 1
        if size > _MAX_ITEMS:
            raise Unreadable
        table = self.words(self.word(address + self.layout.set_table), 2 * size)
        return [key for key in table[::2] if key]

    def items(self, address: int) -> tuple[int, ...]:
        """Of a list or a tuple."""
        if not address:
            return ()
        count = self.word(address + 2 * _WORD)  # ob_size
        if count > _MAX_ITEMS:
            raise Unreadable
        name = self.type_name(address)
        if name == "list":
            return self.words(self.word(address + self.layout.list_items), count) if count else ()
        if name == "tuple":
            return self.words(address + self.layout.tuple_items, count)
        raise Unreadable

    def attribute(self, address: int, name: str) -> int:
        """Of an object of a class that Python defined, in the object itself; 0: it has none."""
        layout, values, own_dict = self.layout, 0, 0
        if layout.values_before:  # 3.11
            values = self.word(address - layout.values_before)
            own_dict = self.word(address - _MANAGED)
        elif layout.values_inline:  # 3.13 and later
            own_dict = self.word(address - _MANAGED)
            values = address + self.word(self.type_of(address) + layout.type_size)
            if own_dict and self.word(own_dict + layout.dict_values) != values:
                values = 0
        else:
            either = self.word(address - _MANAGED)
            values, own_dict = (either + 1, 0) if either & 1 else (0, either)
        if not values:
            return self.in_dict(own_dict, name) if own_dict else 0
        shared = self.word(self.type_of(address) + layout.type_keys)
        index_bytes = self.read(shared + layout.keys_index_bytes, 1)[0]
        count = self.word(shared + layout.keys_count)
        if index_bytes > 16 or count > 64:
            raise Unreadable
        names = self.words(shared + layout.keys_indices + (1 << index_bytes), 2 * count)[::2]
        for place, key in enumerate(names):
            if key and self.text(key) == name:
                return self.word(values + layout.values_first + place * _WORD)
        return 0

    # ---- code

    def code(self, address: int) -> Code:
        found = self._codes.get(address)
        if found is None:
            if self.type_name(address) != "code":
                raise Unreadable
            layout = self.layout
            table = self.word(address + layout.code_table)
            size = self.word(table + 2 * _WORD)
            if size > _MAX_TABLE:
                raise Unreadable
            first = self.int32(address + layout.code_line)
            data = self.read(table + 4 * _WORD, size)  # ob_sval
            found = Code(
                self.text(self.word(address + layout.code_name)),
                self.text(self.word(address + layout.code_file)),
                first,
                cpython_lines.lines(data, first),
                self.int32(address + layout.code_locals),
                self.int32(address + layout.code_stack),
                address + layout.code_start,
            )
            self._codes[address] = found
        return found
