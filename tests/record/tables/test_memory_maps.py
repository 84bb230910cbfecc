"""What kind of memory an address lies in."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from sonde.record.shm import layout as shm
from sonde.record.tables.memory_maps import FILE, LARGE, MemoryMaps


def test_kinds_of_memory(tmp_path: Path) -> None:
    maps = MemoryMaps(os.getpid())
    path = tmp_path / "file"
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as f:
        mapped = mmap.mmap(f.fileno(), 0)
    anonymous = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def address(area: mmap.mmap) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(area))

    assert maps.kind(address(mapped)) == FILE
    # What was mapped after the list was read is found as soon as it is read again.
    maps._read_at = 0
    assert maps.kind(address(anonymous)) in (LARGE, FILE)
    assert maps.kind(8) == shm.MEMORY_UNKNOWN


def test_a_process_that_is_gone_has_none() -> None:
    assert MemoryMaps(2**22 + 1).kind(0x1000) == shm.MEMORY_UNKNOWN
