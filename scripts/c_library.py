"""Has an agent ask for the C library alone, not for the parts that it once had beside it.

Up to glibc 2.33 threads and dlopen were libraries of their own, and what is linked for an old glibc
names them. On a newer one they are empty, but loaded: an agent would leave them in a process that
it has left. An interpreter that needs them has them, so an agent finds their symbols there.
"""

from __future__ import annotations

import struct
from pathlib import Path

from elftools.elf.elffile import ELFFile

LIBRARY = "libc.so.6"
PARTS = frozenset({"libpthread.so.0", "libdl.so.2"})

_DYNAMIC = struct.Struct("<qQ")
_VERSIONS_OF = struct.Struct("<HHIII")
_NEEDED, _NULL = 1, 0


def ask_for_c_library_alone(path: Path) -> None:
    """Rewrites the file (ELF of 64 bits, little endian)."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        sections = {section.name: section for section in elf.iter_sections()}
        dynamic, versions = sections[".dynamic"], sections[".gnu.version_r"]
        names = sections[".dynstr"].data()
        file.seek(0)
        data = bytearray(file.read())

    def name(offset: int) -> str:
        return str(names[offset : names.index(b"\0", offset)], "ascii")

    start, size = dynamic["sh_offset"], dynamic["sh_size"]
    entries = list(_DYNAMIC.iter_unpack(data[start : start + size]))
    (library,) = [value for tag, value in entries if tag == _NEEDED and name(value) == LIBRARY]
    kept = [(tag, value) for tag, value in entries if tag != _NEEDED or name(value) not in PARTS]
    kept += [(_NULL, 0)] * (len(entries) - len(kept))
    for number, entry in enumerate(kept):
        _DYNAMIC.pack_into(data, start + number * _DYNAMIC.size, *entry)

    # Versions of symbols are looked for in the library that they name; the C library has all of
    # them, whichever object then has the symbol.
    at = versions["sh_offset"]
    while True:
        version, count, of, first, following = _VERSIONS_OF.unpack_from(data, at)
        if name(of) in PARTS:
            _VERSIONS_OF.pack_into(data, at, version, count, library, first, following)
        if not following:
            break
        at += following
    path.write_bytes(data)
