"""Where an exported symbol of a running program lies."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass

_DYNSYM = 11
_LOAD = 1
_POSITION_INDEPENDENT = 3

_MAX_KNOWN = 256
_known: dict[tuple[int, int, int, int, tuple[str, ...]], tuple[int, bool, dict[str, int]]] = {}
"""By file and names: what `_symbols` found."""


@dataclass(frozen=True)
class Module:
    """An executable or library mapped into a process."""

    path: str
    base: int
    """Where its first byte is mapped."""


def modules(pid: int) -> list[Module]:
    """What process `pid` has mapped, in the order of addresses."""
    found: dict[str, int] = {}
    with open(f"/proc/{pid}/maps") as f:
        for line in f:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/") and int(fields[2], 16) == 0:
                found.setdefault(fields[5].rstrip("\n"), int(fields[0].split("-")[0], 16))
    return [Module(path, base) for path, base in found.items()]


def find_symbols(pid: int, module: Module, names: tuple[str, ...]) -> dict[str, int]:
    """The addresses of those of `names` that the module exports."""
    # Through the process's own root: it may live in a container.
    return symbols_of(f"/proc/{pid}/root{module.path}", module.base, names)


def symbols_of(path: str, base: int, names: tuple[str, ...]) -> dict[str, int]:
    """The same for the file at `path`, mapped at `base`; empty if it cannot be read."""
    try:
        with open(path, "rb") as f:
            facts = os.fstat(f.fileno())
            # Processes of one program, or one that is entered again, ask the same file.
            key = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, names)
            if key not in _known:
                if len(_known) >= _MAX_KNOWN:
                    _known.clear()
                with mmap.mmap(f.fileno(), facts.st_size, prot=mmap.PROT_READ) as data:
                    _known[key] = _symbols(data, names)
    except (OSError, ValueError, struct.error):
        return {}
    first, moves, found = _known[key]
    return {name: at - first + base if moves else at for name, at in found.items()}


def _symbols(data: mmap.mmap, names: tuple[str, ...]) -> tuple[int, bool, dict[str, int]]:
    """The address of its first byte, whether it may lie elsewhere, and those of symbols."""
    if data[:5] != b"\x7fELF\x02":
        return 0, False, {}
    (kind,) = struct.unpack_from("<H", data, 16)
    (sections_at,) = struct.unpack_from("<Q", data, 40)
    section_size, sections = struct.unpack_from("<HH", data, 58)
    first, moves = _first_address(data), kind == _POSITION_INDEPENDENT
    for number in range(sections):
        at = sections_at + number * section_size
        _, type_, _, _, offset, size, link = struct.unpack_from("<IIQQQQI", data, at)
        if type_ == _DYNSYM:
            strings = struct.unpack_from("<IIQQQQ", data, sections_at + link * section_size)
            found = _look_up(data, offset, size, strings[4], strings[5], names)
            return first, moves, found
    return first, moves, {}


def _look_up(
    data: mmap.mmap,
    offset: int,
    size: int,
    strings_at: int,
    strings_size: int,
    names: tuple[str, ...],
) -> dict[str, int]:
    wanted: dict[int, str] = {}
    for name in names:
        # One string may be the end of another: `close` of `fclose`.
        text, end = name.encode() + b"\0", strings_at + strings_size
        at = data.find(text, strings_at, end)
        while at >= 0:
            wanted[at - strings_at] = name
            at = data.find(text, at + 1, end)
    found: dict[str, int] = {}
    for name_at, _, _, section, value, _ in struct.iter_unpack(
        "<IBBHQQ", data[offset : offset + size]
    ):
        if name_at in wanted and section:
            found[wanted[name_at]] = value
    return found


def _first_address(data: mmap.mmap) -> int:
    (headers_at,) = struct.unpack_from("<Q", data, 32)
    header_size, headers = struct.unpack_from("<HH", data, 54)
    for number in range(headers):
        type_, _, offset, address = struct.unpack_from(
            "<IIQQ", data, headers_at + number * header_size
        )
        if type_ == _LOAD and offset == 0:
            return int(address)
    return 0


def file_offset(path: str, symbol: str) -> int | None:
    """Where in the file at `path` an exported function begins."""
    try:
        with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as data:
            address = _symbols(data, (symbol,))[2].get(symbol)
            if address is None:
                return None
            (headers_at,) = struct.unpack_from("<Q", data, 32)
            header_size, headers = struct.unpack_from("<HH", data, 54)
            for number in range(headers):
                type_, _, offset, start, _, size = struct.unpack_from(
                    "<IIQQQQ", data, headers_at + number * header_size
                )
                if type_ == _LOAD and start <= address < start + size:
                    return int(address - start + offset)
    except (OSError, ValueError, struct.error):
        pass
    return None
